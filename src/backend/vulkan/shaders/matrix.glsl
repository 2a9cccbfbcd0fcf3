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
