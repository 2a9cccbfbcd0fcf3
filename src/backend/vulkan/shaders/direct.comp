#version 460
// y = x Wᵀ (+ bias) by the matrix unit, W as it lies in memory: a lane reads the codes of its own values of a tile and makes them f16 in
// their registers. For units whose tiles of 16 × 16 lie so: lane l holds of rows l / 4 and l / 4 + 8 the columns 2 c, 2 c + 1, 2 c + 8,
// 2 c + 9, c = l % 4, the two rows one after another (kRowBit 2) or by turns (1).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "block.glsl"
#include "matrix.glsl"
layout(constant_id = 9) const uint kRowBit = 2;
#include "halves.glsl"
#define PUSH_OF_W \
  Bytes w;        \
  uint row_bytes, first_row, run, stride, begin_row;
#define BEGIN_W                                                                                               \
  uint64_t w[kRowTiles][2];                                                                                   \
  Eights next_w[kRowTiles][2];                                                                                \
  [[unroll]] for (uint i = 0; i < 2 * kRowTiles; ++i) {                                                       \
    const uint r = min((first_tile + i / 2) * 16 + i % 2 * 8 + lane / 4, p.rows - 1);                         \
    const uint row = row_of_slice(p.begin_row + matrix * p.rows + r, p.first_row, p.run, p.stride);           \
    w[i / 2][i % 2] = uint64_t(p.w) + uint64_t(row) * p.row_bytes;                                            \
  }
#define LOAD_W(step)                                                                                          \
  [[unroll]] for (uint i = 0; i < 2 * kRowTiles; ++i) next_w[i / 2][i % 2] = load_eights(w[i / 2][i % 2], step, lane % 4);
#define TAKE_W(step)                                                                                          \
  [[unroll]] for (uint i = 0; i < kRowTiles; ++i) {                                                           \
    uvec4 a[2], b[2];                                                                                         \
    halves_of(next_w[i][0], step, lane % 4, a[0], a[1]);                                                      \
    halves_of(next_w[i][1], step, lane % 4, b[0], b[1]);                                                      \
    [[unroll]] for (uint k = 0; k < 4; ++k) {                                                                 \
      const uvec2 x = k % 2 == 0 ? a[k / 2].xy : a[k / 2].zw, z = k % 2 == 0 ? b[k / 2].xy : b[k / 2].zw;     \
      now[i][k] = kRowBit == 2 ? uvec4(x, z) : uvec4(x.x, z.x, x.y, z.y);                                     \
    }                                                                                                         \
  }
#include "matrix_product.glsl"
