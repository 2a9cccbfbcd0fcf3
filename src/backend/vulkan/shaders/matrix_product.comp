#version 460
// y = x Wᵀ (+ bias) by the matrix unit, W as tiles (expand.comp).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrix.glsl"
#define PUSH_OF_W \
  Units w;        \
  uint row_tiles;
#define BEGIN_W                                                                                             \
  Units w[kRowTiles];                                                                                       \
  uvec4 next_w[kRowTiles][kDepthTiles * kUnits];                                                            \
  [[unroll]] for (uint i = 0; i < kRowTiles; ++i) {                                                         \
    const uint64_t row = uint64_t(matrix * p.row_tiles + first_tile + i) * (p.depth / kTileK);              \
    w[i] = Units(uint64_t(p.w) + row * (16 * kLanes * kUnits));                                             \
  }
#define LOAD_W(step)                                                                                        \
  [[unroll]] for (uint i = 0; i < kRowTiles; ++i) {                                                         \
    [[unroll]] for (uint u = 0; u < kDepthTiles * kUnits; ++u)                                              \
      next_w[i][u] = w[i].v[(((step) * kDepthTiles + u / kUnits) * kLanes + lane) * kUnits + u % kUnits];   \
  }
#define TAKE_W(step)                                                                                        \
  [[unroll]] for (uint i = 0; i < kRowTiles; ++i) {                                                         \
    [[unroll]] for (uint u = 0; u < kDepthTiles * kUnits; ++u) now[i][u] = next_w[i][u];                    \
  }
#include "matrix_product.glsl"
