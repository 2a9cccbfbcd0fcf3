// Kernel B on AMX tiles: 16 tokens × 16 rows × 32 (or 16) values a product, in the float order of the other kernels.
//
// A tile of C is one int32 sum for each (token, row), exact, so a row has the bits that decode.h gives it. What costs
// time is what follows: 3 vector operations for 16 sums. So sums of 16 tokens stay in registers over the blocks. A
// product takes some 90 cycles from its loads to its store, more than the reorder buffer of a shared core covers: its
// loads, its multiplication, its store and its use are one step apart each.
#pragma once

#include "backend/cpu/isa/decode.h"

namespace brass::cpu {
namespace {

constexpr uint32_t kTilePanels = 8, kTileBlocks = 64;
constexpr uint32_t kTileTokens = 16;

// Tiles 0, 1: C; 2, 3: A; 4, 5: B; 6, 7: C and A of the last tokens, fewer than 16.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void set(int tile, uint32_t n_rows, uint32_t bytes) {
    rows[tile] = static_cast<uint8_t>(n_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};

void enter_tiles(uint32_t tokens, Kind kind) {
  const uint32_t depth = kind == Kind::kHalves ? 16 : 32;  // values of K in one product
  const uint32_t rest = tokens % kTileTokens == 0 ? 1 : tokens % kTileTokens;
  TileConfig c;
  for (int i = 0; i < 2; ++i) {
    c.set(i, kTileTokens, 64);
    c.set(2 + i, kTileTokens, depth);
    c.set(4 + i, depth / 4, 64);
  }
  c.set(6, rest, 64);
  c.set(7, rest, depth);
  asm volatile("" : : "r"(&c) : "memory");  // GCC 12's intrinsic says that it reads 8 bytes only
  _tile_loadconfig(&c);
}

void leave_tiles() { _tile_release(); }

using Sums = int32_t[kTileTokens][16];

// What a panel of TileArgs and a run of tokens are.
struct PanelTokens {
  const uint8_t* codes;
  const float *scale, *offset;
  const int8_t* x[2];  // the terms of x
  const float *x_scale, *x_sum, *c_in;
  const int16_t* sum16;
  float* c_out;
};

BRASS_INLINE PanelTokens panel_tokens(const TileArgs& a, uint32_t panel, uint32_t token) {
  PanelTokens p;
  p.codes = a.codes + size_t{panel} * a.blocks * 512;
  p.scale = a.scale + size_t{panel} * a.blocks * scale_vectors(a.kind) * 16;
  p.offset = a.offset + size_t{panel} * a.blocks * 16;
  p.x[0] = a.x + token * a.x_stride;
  p.x[1] = a.kind == Kind::kTwoTerms ? a.x_seconds + token * a.x_stride : nullptr;
  p.x_scale = a.x_scale + token * a.x_scale_stride;
  p.x_sum = a.x_sum + token * a.x_scale_stride;
  p.sum16 = a.sum16 + token * a.sum16_stride;
  p.c_in = a.c_in == nullptr ? nullptr : a.c_in + token * a.c_in_stride + 16 * panel;
  p.c_out = a.c_out + token * a.c_out_stride + 16 * panel;
  return p;
}

// acc += the block's sums of token r, scaled.
template <Kind kind>
BRASS_INLINE F add_block(const TileArgs& a, const PanelTokens& p, const Sums* sums,
                         const F (&w_scale)[scale_vectors(kind)], uint32_t b, uint32_t r, F acc) {
  I isum[scale_vectors(kind)];
  for (int h = 0; h < (kind == Kind::kHalves ? 2 : 1); ++h) isum[h] = load_i(sums[h][r]);
  if constexpr (kind == Kind::kTwoTerms) isum[0] = join_terms(isum[0], load_i(sums[1][r]));
  if constexpr (kind == Kind::kMins) {
    isum[1] = dot16(zero_i(), broadcast4(p.sum16 + r * a.sum16_stride + 2 * b), load_i(p.offset + b * 16));
  }
  const size_t at = r * a.x_scale_stride + b;
  acc = fma(scaled<kind>(isum, w_scale), set(p.x_scale[at]), acc);
  if constexpr (kind == Kind::kOffset) acc = fma(load(p.offset + b * 16), set(p.x_sum[at]), acc);
  return acc;
}

template <uint32_t n>
BRASS_INLINE void load_scales(const PanelTokens& p, uint32_t b, F (&w_scale)[n]) {
  for (uint32_t h = 0; h < n; ++h) w_scale[h] = load(p.scale + (b * n + h) * 16);
}

// The stages of product i of a panel and 16 tokens: half, or term of x, i % 2 of block i / 2; or block i. Tile numbers are
// immediates.
template <int parity>
BRASS_INLINE void load_product(const int8_t* x, size_t x_stride, const uint8_t* codes) {
  if constexpr (parity == 0) {
    _tile_loadd(2, x, x_stride);
    _tile_loadd(4, codes, 64);
  } else {
    _tile_loadd(3, x, x_stride);
    _tile_loadd(5, codes, 64);
  }
}
template <int parity>
BRASS_INLINE void multiply_product() {
  if constexpr (parity == 0) {
    _tile_zero(0);
    _tile_dpbssd(0, 2, 4);
  } else {
    _tile_zero(1);
    _tile_dpbssd(1, 3, 5);
  }
}
template <int parity>
BRASS_INLINE void store_product(Sums& out) {
  if constexpr (parity == 0) {
    _tile_stored(0, out, 64);
  } else {
    _tile_stored(1, out, 64);
  }
}

template <Kind kind>
constexpr uint32_t kProducts = kind == Kind::kHalves || kind == Kind::kTwoTerms ? 2 : 1;  // of a block

// Where the operands of product i begin.
template <Kind kind>
BRASS_INLINE const int8_t* x_of_product(const PanelTokens& p, uint32_t i) {
  if constexpr (kind == Kind::kTwoTerms) return p.x[i % 2] + 32 * (i / 2);
  return p.x[0] + i * (32 / kProducts<kind>);
}
template <Kind kind>
BRASS_INLINE const uint8_t* codes_of_product(const PanelTokens& p, uint32_t i) {
  if constexpr (kind == Kind::kTwoTerms) return p.codes + 512 * (i / 2);
  return p.codes + i * (512 / kProducts<kind>);
}

template <Kind kind, int parity>
BRASS_INLINE void load_product_at(const TileArgs& a, const PanelTokens& p, uint32_t i) {
  load_product<parity>(x_of_product<kind>(p, i), a.x_stride, codes_of_product<kind>(p, i));
}

// Store product i + 1, multiply i + 2, load i + 3, use i. `sums`: of product i at i % 4.
template <Kind kind, int parity>
BRASS_INLINE void step(const TileArgs& a, const PanelTokens& p, uint32_t i, Sums* sums,
                       F (&acc)[kTileTokens]) {
  const uint32_t products = a.blocks * kProducts<kind>;
  if (i + 1 < products) store_product<1 - parity>(sums[(i + 1) % 4]);
  if (i + 2 < products) multiply_product<parity>();
  if (i + 3 < products) load_product_at<kind, 1 - parity>(a, p, i + 3);
  if constexpr (kProducts<kind> == 1 || parity == 1) {
    const uint32_t b = i / kProducts<kind>;
    F w_scale[scale_vectors(kind)];
    load_scales(p, b, w_scale);
    const Sums* of_block = sums + (i + 1 - kProducts<kind>) % 4;
    BRASS_UNROLL
    for (uint32_t r = 0; r < kTileTokens; ++r)
      acc[r] = add_block<kind>(a, p, of_block, w_scale, b, r, acc[r]);
  }
}

template <Kind kind>
void tile_16(const TileArgs& a, const PanelTokens& p) {
  const uint32_t products = a.blocks * kProducts<kind>;
  alignas(64) Sums sums[4];
  F acc[kTileTokens];  // apart from sums, whose address the tile stores take: these stay in registers
  BRASS_UNROLL
  for (uint32_t r = 0; r < kTileTokens; ++r) {
    acc[r] = p.c_in == nullptr ? zero() : loadu(p.c_in + r * a.c_in_stride);
  }
  load_product_at<kind, 0>(a, p, 0);
  if (products > 1) load_product_at<kind, 1>(a, p, 1);
  multiply_product<0>();
  if (products > 1) multiply_product<1>();
  if (products > 2) load_product_at<kind, 0>(a, p, 2);
  store_product<0>(sums[0]);
  uint32_t i = 0;
  for (; i + 2 <= products; i += 2) {
    step<kind, 0>(a, p, i, sums, acc);
    step<kind, 1>(a, p, i + 1, sums, acc);
  }
  if (i < products) step<kind, 0>(a, p, i, sums, acc);
  BRASS_UNROLL
  for (uint32_t r = 0; r < kTileTokens; ++r) storeu(p.c_out + r * a.c_out_stride, acc[r]);
}

// The last tokens, fewer than 16.
template <Kind kind>
void tile_rest(const TileArgs& a, const PanelTokens& p, uint32_t tokens) {
  constexpr uint32_t kOfBlock = kProducts<kind>;
  alignas(64) Sums sums[kOfBlock];
  F acc[kTileTokens], w_scale[scale_vectors(kind)];
  for (uint32_t r = 0; r < tokens; ++r)
    acc[r] = p.c_in == nullptr ? zero() : loadu(p.c_in + r * a.c_in_stride);
  for (uint32_t b = 0; b < a.blocks; ++b) {
    for (uint32_t i = 0; i < kOfBlock; ++i) {
      _tile_loadd(7, x_of_product<kind>(p, b * kOfBlock + i), a.x_stride);
      _tile_loadd(4, codes_of_product<kind>(p, b * kOfBlock + i), 64);
      _tile_zero(6);
      _tile_dpbssd(6, 7, 4);
      _tile_stored(6, sums[i], 64);
    }
    load_scales(p, b, w_scale);
    for (uint32_t r = 0; r < tokens; ++r) acc[r] = add_block<kind>(a, p, sums, w_scale, b, r, acc[r]);
  }
  for (uint32_t r = 0; r < tokens; ++r) storeu(p.c_out + r * a.c_out_stride, acc[r]);
}

template <Kind kind>
void tile_kind(const TileArgs& a) {
  uint32_t token = 0;
  for (; token + kTileTokens <= a.tokens; token += kTileTokens) {
    for (uint32_t panel = 0; panel < a.panels; ++panel) tile_16<kind>(a, panel_tokens(a, panel, token));
  }
  if (token == a.tokens) return;
  for (uint32_t panel = 0; panel < a.panels; ++panel) {
    tile_rest<kind>(a, panel_tokens(a, panel, token), a.tokens - token);
  }
}

void tile(const TileArgs& a) {
  switch (a.kind) {
    case Kind::kPlain:
      return tile_kind<Kind::kPlain>(a);
    case Kind::kTwoTerms:
      return tile_kind<Kind::kTwoTerms>(a);
    case Kind::kOffset:
      return tile_kind<Kind::kOffset>(a);
    case Kind::kHalves:
      return tile_kind<Kind::kHalves>(a);
    case Kind::kMins:
      return tile_kind<Kind::kMins>(a);
  }
}

}  // namespace
}  // namespace brass::cpu
