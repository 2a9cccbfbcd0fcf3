// The matrix unit: a subgroup multiplies f16 tiles, [kTileM × kTileK] · [kTileK × kTileN], and sums in f32.
// How a tile's values are spread over the lanes is the device's own, and the same in all programs. So what one program
// takes from a tile as `kUnits` times 16 bytes a lane, another puts into a tile as they are (put_units).
//
// Products have an order of columns of their own, for rows of W and of x alike: of 32 columns, unit v (of 16 bytes) holds the pairs
// (8 c + 4 ⌊v / 2⌋ + v % 2, the one two behind) for c = 0 … 3. So where a lane holds the columns 2 c, 2 c + 1, 2 c + 8, 2 c + 9 of two
// tiles of 16 (direct.comp), these are eight neighbours in W, and each pair is a mask of a word of codes.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
// USUAL: the sizes are literals, those of most devices, so that a compiler need not wait for constants to unroll by.
#ifdef USUAL
layout(local_size_x = 128) in;
const uint kLanes = 32, kTileM = 16, kTileN = 16, kTileK = 16, kThreads = 128, kUnits = 1;
#else
layout(local_size_x_id = 4) in;
layout(constant_id = 0) const uint kLanes = 32;
layout(constant_id = 1) const uint kTileM = 16;
layout(constant_id = 2) const uint kTileN = 16;
layout(constant_id = 3) const uint kTileK = 16;
layout(constant_id = 4) const uint kThreads = 128;
layout(constant_id = 5) const uint kUnits = 1;
#endif
const uint kSubgroups = kThreads / kLanes;
const uint kComponents = kTileM * kTileN / kLanes;  // of a C tile, in each lane
// Where component e of lane l stands in a C tile (row · 256 + column): the places of the bits of l and of e, together.
layout(constant_id = 10) const uint kLane1 = 0;
layout(constant_id = 11) const uint kLane2 = 0;
layout(constant_id = 12) const uint kLane4 = 0;
layout(constant_id = 13) const uint kLane8 = 0;
layout(constant_id = 14) const uint kLane16 = 0;
layout(constant_id = 15) const uint kLane32 = 0;
layout(constant_id = 16) const uint kComponent1 = 0;
layout(constant_id = 17) const uint kComponent2 = 0;
layout(constant_id = 18) const uint kComponent4 = 0;
layout(constant_id = 19) const uint kComponent8 = 0;
layout(constant_id = 20) const uint kComponent16 = 0;
uint place_of_lane(uint l) {
  return (l & 1) * kLane1 | (l >> 1 & 1) * kLane2 | (l >> 2 & 1) * kLane4 | (l >> 3 & 1) * kLane8 | (l >> 4 & 1) * kLane16 |
         (l >> 5 & 1) * kLane32;
}
uint place_of_component(uint e) {
  return (e & 1) * kComponent1 | (e >> 1 & 1) * kComponent2 | (e >> 2 & 1) * kComponent4 | (e >> 3 & 1) * kComponent8 |
         (e >> 4 & 1) * kComponent16;
}

#define MatrixA coopmat<float16_t, gl_ScopeSubgroup, kTileM, kTileK, gl_MatrixUseA>
#define MatrixB coopmat<float16_t, gl_ScopeSubgroup, kTileK, kTileN, gl_MatrixUseB>
#define MatrixC coopmat<float, gl_ScopeSubgroup, kTileM, kTileN, gl_MatrixUseAccumulator>

layout(buffer_reference, std430, buffer_reference_align = 16) buffer Units {
  uvec4 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Fours {
  vec4 v[];
};

// What the lanes of a subgroup wrote into shared memory is there for all of them.
void meet_lanes() {
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}

#define put_units(matrix, unit, words)                        \
  [[unroll]] for (uint w_ = 0; w_ < 4; ++w_) {                \
    const f16vec2 two_ = unpackFloat2x16((words)[w_]);        \
    (matrix)[8 * (unit) + 2 * w_] = two_.x;                   \
    (matrix)[8 * (unit) + 2 * w_ + 1] = two_.y;               \
  }
#define take_units(matrix, unit)                                                                               \
  uvec4(packFloat2x16(f16vec2((matrix)[8 * (unit)], (matrix)[8 * (unit) + 1])),                                \
        packFloat2x16(f16vec2((matrix)[8 * (unit) + 2], (matrix)[8 * (unit) + 3])),                            \
        packFloat2x16(f16vec2((matrix)[8 * (unit) + 4], (matrix)[8 * (unit) + 5])),                            \
        packFloat2x16(f16vec2((matrix)[8 * (unit) + 6], (matrix)[8 * (unit) + 7])))
