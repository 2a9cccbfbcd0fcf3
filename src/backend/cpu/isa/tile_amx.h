// Kernel B on AMX tiles: 16 tokens × 16 rows × 32 (or 16) values a product, in the float order of the other
// kernels.
//
// A tile of C is one int32 sum for each (token, row), exact, so a row has the bits that decode.h gives it.
// What costs time is what follows: 3 vector operations for 16 sums. So sums of 16 tokens stay in registers
// over the blocks, and the products of a block are asked for before the sums of the block before are scaled.
#pragma once

#include "backend/cpu/isa/decode.h"

namespace brass::cpu {
namespace {

constexpr int kTilePanels = 4;
constexpr uint32_t kTileTokens = 16;

// Tiles 0–3: C of 16 tokens; 4: A of 16 tokens; 5: B; 6, 7: C and A of the last tokens, fewer than 16.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

void enter_tiles(uint32_t tokens, uint32_t halves) {
  const auto depth = static_cast<uint16_t>(32 / halves);  // values of K in one product
  const auto rest = static_cast<uint8_t>(tokens % kTileTokens == 0 ? 1 : tokens % kTileTokens);
  TileConfig c;
  for (int i = 0; i < 4; ++i) c.row_bytes[i] = 64, c.rows[i] = kTileTokens;
  c.row_bytes[4] = depth, c.rows[4] = kTileTokens;
  c.row_bytes[5] = 64, c.rows[5] = static_cast<uint8_t>(depth / 4);
  c.row_bytes[6] = 64, c.rows[6] = rest;
  c.row_bytes[7] = depth, c.rows[7] = rest;
  asm volatile("" : : "r"(&c) : "memory");  // GCC 12's intrinsic says that it reads 8 bytes only
  _tile_loadconfig(&c);
}

void leave_tiles() { _tile_release(); }

using Sums = int32_t[kTileTokens][16];

// out[half] = the sums of one block. C: which tile holds them. Tile numbers are immediates, hence the macro.
#define BRASS_PRODUCT(c_tile, a_tile, half)                \
  _tile_loadd(a_tile, x + 32 * b + 16 * (half), x_stride); \
  _tile_loadd(5, codes + b * 512 + 256 * (half), 64);      \
  _tile_zero(c_tile);                                      \
  _tile_dpbssd(c_tile, a_tile, 5);                         \
  _tile_stored(c_tile, out[half], 64)
template <int halves, int parity>
BRASS_INLINE void product(const int8_t* x, size_t x_stride, const uint8_t* codes, uint32_t b,
                          Sums (&out)[halves]) {
  if constexpr (parity == 0) {
    BRASS_PRODUCT(0, 4, 0);
    if constexpr (halves == 2) {
      BRASS_PRODUCT(1, 4, 1);
    }
  } else {
    BRASS_PRODUCT(2, 4, 0);
    if constexpr (halves == 2) {
      BRASS_PRODUCT(3, 4, 1);
    }
  }
}
template <int halves>
BRASS_INLINE void product_rest(const int8_t* x, size_t x_stride, const uint8_t* codes, uint32_t b,
                               Sums (&out)[halves]) {
  BRASS_PRODUCT(6, 7, 0);
  if constexpr (halves == 2) {
    BRASS_PRODUCT(6, 7, 1);
  }
}
#undef BRASS_PRODUCT

// What a panel of TileArgs and a run of tokens are.
struct PanelTokens {
  const uint8_t* codes;
  const float *scale, *offset;
  const int8_t* x;
  const float *x_scale, *x_sum, *c_in;
  float* c_out;
};

BRASS_INLINE PanelTokens panel_tokens(const TileArgs& a, uint32_t panel, uint32_t token) {
  PanelTokens p;
  p.codes = a.codes + size_t{panel} * a.blocks * 512;
  p.scale = a.scale + size_t{panel} * a.blocks * a.halves * 16;
  p.offset = a.offset + size_t{panel} * a.blocks * 16;
  p.x = a.x + token * a.x_stride;
  p.x_scale = a.x_scale + token * a.x_scale_stride;
  p.x_sum = a.x_sum + token * a.x_scale_stride;
  p.c_in = a.c_in == nullptr ? nullptr : a.c_in + token * a.c_in_stride + 16 * panel;
  p.c_out = a.c_out + token * a.c_out_stride + 16 * panel;
  return p;
}

// acc += the block's sums of token r, scaled.
template <int halves, bool offset>
BRASS_INLINE F add_block(const TileArgs& a, const PanelTokens& p, const Sums (&sums)[halves],
                         const F (&w_scale)[halves], uint32_t b, uint32_t r, F acc) {
  I isum[halves];
  for (int h = 0; h < halves; ++h) isum[h] = load_i(sums[h][r]);
  const size_t at = r * a.x_scale_stride + b;
  acc = fma(scaled(isum, w_scale), set(p.x_scale[at]), acc);
  if constexpr (offset) acc = fma(load(p.offset + b * 16), set(p.x_sum[at]), acc);
  return acc;
}

template <int halves>
BRASS_INLINE void load_scales(const PanelTokens& p, uint32_t b, F (&w_scale)[halves]) {
  for (int h = 0; h < halves; ++h) w_scale[h] = load(p.scale + (b * halves + h) * 16);
}

template <int halves, bool offset>
void tile_16(const TileArgs& a, const PanelTokens& p) {
  alignas(64) Sums even[halves], odd[halves];
  F acc[kTileTokens], w_scale[halves];
  BRASS_UNROLL
  for (uint32_t r = 0; r < kTileTokens; ++r) {
    acc[r] = p.c_in == nullptr ? zero() : loadu(p.c_in + r * a.c_in_stride);
  }
  product<halves, 0>(p.x, a.x_stride, p.codes, 0, even);
  for (uint32_t b = 0; b < a.blocks; b += 2) {
    if (b + 1 < a.blocks) product<halves, 1>(p.x, a.x_stride, p.codes, b + 1, odd);
    load_scales(p, b, w_scale);
    BRASS_UNROLL
    for (uint32_t r = 0; r < kTileTokens; ++r) {
      acc[r] = add_block<halves, offset>(a, p, even, w_scale, b, r, acc[r]);
    }
    if (b + 1 == a.blocks) break;
    if (b + 2 < a.blocks) product<halves, 0>(p.x, a.x_stride, p.codes, b + 2, even);
    load_scales(p, b + 1, w_scale);
    BRASS_UNROLL
    for (uint32_t r = 0; r < kTileTokens; ++r) {
      acc[r] = add_block<halves, offset>(a, p, odd, w_scale, b + 1, r, acc[r]);
    }
  }
  BRASS_UNROLL
  for (uint32_t r = 0; r < kTileTokens; ++r) storeu(p.c_out + r * a.c_out_stride, acc[r]);
}

// The last tokens, fewer than 16.
template <int halves, bool offset>
void tile_rest(const TileArgs& a, const PanelTokens& p, uint32_t tokens) {
  alignas(64) Sums sums[halves];
  F acc[kTileTokens], w_scale[halves];
  for (uint32_t r = 0; r < tokens; ++r)
    acc[r] = p.c_in == nullptr ? zero() : loadu(p.c_in + r * a.c_in_stride);
  for (uint32_t b = 0; b < a.blocks; ++b) {
    product_rest<halves>(p.x, a.x_stride, p.codes, b, sums);
    load_scales(p, b, w_scale);
    for (uint32_t r = 0; r < tokens; ++r)
      acc[r] = add_block<halves, offset>(a, p, sums, w_scale, b, r, acc[r]);
  }
  for (uint32_t r = 0; r < tokens; ++r) storeu(p.c_out + r * a.c_out_stride, acc[r]);
}

template <int halves, bool offset>
void tile_kind(const TileArgs& a) {
  uint32_t token = 0;
  for (; token + kTileTokens <= a.tokens; token += kTileTokens) {
    for (uint32_t panel = 0; panel < a.panels; ++panel)
      tile_16<halves, offset>(a, panel_tokens(a, panel, token));
  }
  if (token == a.tokens) return;
  for (uint32_t panel = 0; panel < a.panels; ++panel) {
    tile_rest<halves, offset>(a, panel_tokens(a, panel, token), a.tokens - token);
  }
}

void tile(const TileArgs& a) {
  const bool offset = a.offset != nullptr;
  if (a.halves == 2) return tile_kind<2, false>(a);
  return offset ? tile_kind<1, true>(a) : tile_kind<1, false>(a);
}

}  // namespace
}  // namespace brass::cpu
