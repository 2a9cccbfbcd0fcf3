// Kernel B's microkernel on vectors: panels × a few tokens in registers.
#pragma once

#include "backend/cpu/isa/decode.h"

namespace brass::cpu {
namespace {

#if defined(__AVX512VNNI__)
constexpr int kTilePanels = 2, kTileTokens = 6;
#elif defined(__AVXVNNI__)
constexpr int kTilePanels = 1, kTileTokens = 6;
#elif defined(__AVX2__)
constexpr int kTilePanels = 1, kTileTokens = 4;
#else
constexpr int kTilePanels = 1, kTileTokens = 2;
#endif

template <bool wide>
BRASS_INLINE I dot_tile(I c, I u, I x) {
  if constexpr (wide && !kDotExact) return dot_wide(c, u, x);
  return dot(c, u, x);
}

// P panels × T tokens, T ≤ kTileTokens, from token `token` on.
template <int P, int T, int halves, bool offset, bool wide>
void tile_tokens(const TileArgs& a, uint32_t token) {
  const int8_t* x = a.x + token * a.x_stride;
  const float* x_scale = a.x_scale + token * a.x_scale_stride;
  const float* x_sum = a.x_sum + token * a.x_scale_stride;
  const int16_t* sum16 = a.sum16 + token * a.sum16_stride;
  const size_t panel_codes = size_t{a.blocks} * 512, panel_scale = size_t{a.blocks} * halves * 16;
  F acc[P][T];
  for (int p = 0; p < P; ++p) {
    for (int t = 0; t < T; ++t) {
      acc[p][t] = a.c_in == nullptr ? zero() : loadu(a.c_in + (token + t) * a.c_in_stride + 16 * p);
    }
  }
  for (uint32_t b = 0; b < a.blocks; ++b) {
    I isum[P][T][halves];
    for (int t = 0; t < T; ++t) {
      for (int h = 0; h < halves; ++h) {
        I c = zero_i();
        if constexpr (kDotExact || !wide) {
          c = dot16(c, broadcast4(sum16 + t * a.sum16_stride + 2 * b),
                    minus_zero_pair(a.zero, halves == 1 ? -1 : h));
        }
        for (int p = 0; p < P; ++p) isum[p][t][h] = c;
      }
    }
    const uint8_t* codes = a.codes + b * 512;
    BRASS_UNROLL
    for (int v = 0; v < 8; ++v) {
      const int h = halves == 2 ? v / 4 : 0;
      I u[P];
      for (int p = 0; p < P; ++p) u[p] = load_i(codes + p * panel_codes + 64 * v);
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        const I four = broadcast4(x + t * a.x_stride + 32 * b + 4 * v);
        for (int p = 0; p < P; ++p) isum[p][t][h] = dot_tile<wide>(isum[p][t][h], u[p], four);
      }
    }
    for (int p = 0; p < P; ++p) {
      F w_scale[halves];
      for (int h = 0; h < halves; ++h) w_scale[h] = load(a.scale + p * panel_scale + (b * halves + h) * 16);
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        acc[p][t] = fma(scaled(isum[p][t], w_scale), set(x_scale[t * a.x_scale_stride + b]), acc[p][t]);
        if constexpr (offset) {
          acc[p][t] =
              fma(load(a.offset + (p * a.blocks + b) * 16), set(x_sum[t * a.x_scale_stride + b]), acc[p][t]);
        }
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int t = 0; t < T; ++t) storeu(a.c_out + (token + t) * a.c_out_stride + 16 * p, acc[p][t]);
  }
}

template <int P, int T, int halves, bool offset, bool wide>
void tile_rest(const TileArgs& a, uint32_t token) {
  if constexpr (T > 0) {
    if (a.tokens - token == T) return tile_tokens<P, T, halves, offset, wide>(a, token);
    tile_rest<P, T - 1, halves, offset, wide>(a, token);
  }
}

template <int P, int halves, bool offset, bool wide>
void tile_panels(const TileArgs& a) {
  uint32_t token = 0;
  for (; token + kTileTokens <= a.tokens; token += kTileTokens) {
    tile_tokens<P, kTileTokens, halves, offset, wide>(a, token);
  }
  tile_rest<P, kTileTokens - 1, halves, offset, wide>(a, token);
}

template <int halves, bool offset, bool wide>
void tile_kind(const TileArgs& a) {
  if constexpr (kTilePanels == 2) {
    if (a.panels == 2) return tile_panels<2, halves, offset, wide>(a);
  }
  tile_panels<1, halves, offset, wide>(a);
}

void tile(const TileArgs& a) {
  const bool offset = a.offset != nullptr;
  if (!kDotExact && a.zero == 128) {
    if (a.halves == 2) return tile_kind<2, false, true>(a);
    return offset ? tile_kind<1, true, true>(a) : tile_kind<1, false, true>(a);
  }
  if (a.halves == 2) return tile_kind<2, false, false>(a);
  return offset ? tile_kind<1, true, false>(a) : tile_kind<1, false, false>(a);
}

void enter_tiles(uint32_t, uint32_t) {}
void leave_tiles() {}

}  // namespace
}  // namespace brass::cpu
