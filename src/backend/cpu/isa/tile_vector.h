// Kernel B's microkernel on vectors: panels × a few tokens in registers.
#pragma once

#include "backend/cpu/isa/decode.h"

namespace brass::cpu {
namespace {

#if defined(__AVX512VNNI__)
constexpr uint32_t kTilePanels = 2, kTileTokens = 6;
#elif defined(__AVXVNNI__)
constexpr uint32_t kTilePanels = 1, kTileTokens = 6;
#elif defined(__AVX2__)
constexpr uint32_t kTilePanels = 1, kTileTokens = 4;
#else
constexpr uint32_t kTilePanels = 1, kTileTokens = 2;
#endif

constexpr uint32_t kTileBlocks = 8;

template <bool wide>
BRASS_INLINE I dot_tile(I c, I u, I x) {
  if constexpr (wide && !kDotExact) return dot_wide(c, u, x);
  return dot(c, u, x);
}

// P panels × T tokens, T ≤ kTileTokens, from token `token` on.
template <int P, int T, Kind kind, bool wide>
void tile_tokens(const TileArgs& a, uint32_t token) {
  const int8_t* x = a.x + token * a.x_stride;
  [[maybe_unused]] const int8_t* x_seconds =
      kind == Kind::kTwoTerms ? a.x_seconds + token * a.x_stride : nullptr;
  const float* x_scale = a.x_scale + token * a.x_scale_stride;
  const float* x_sum = a.x_sum + token * a.x_scale_stride;
  const int16_t* sum16 = a.sum16 + token * a.sum16_stride;
  [[maybe_unused]] const int16_t* seconds16 =
      kind == Kind::kTwoTerms ? a.seconds16 + token * a.sum16_stride : nullptr;
  constexpr uint32_t kScales = scale_vectors(kind);
  constexpr bool kHalves = kind == Kind::kHalves;
  const size_t panel_codes = size_t{a.blocks} * 512, panel_scale = size_t{a.blocks} * kScales * 16;
  F acc[P][T];
  for (int p = 0; p < P; ++p) {
    for (int t = 0; t < T; ++t) {
      acc[p][t] = a.c_in == nullptr ? zero() : loadu(a.c_in + (token + t) * a.c_in_stride + 16 * p);
    }
  }
  for (uint32_t b = 0; b < a.blocks; ++b) {
    I isum[P][T][kScales];
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) {
      const I sums = broadcast4(sum16 + t * a.sum16_stride + 2 * b);
      BRASS_UNROLL
      for (int h = 0; h < (kHalves ? 2 : 1); ++h) {
        I c = zero_i();
        if constexpr (kDotExact || !wide) c = dot16(c, sums, minus_zero_pair(a.zero, kHalves ? h : -1));
        for (int p = 0; p < P; ++p) isum[p][t][h] = c;
      }
      if constexpr (kind == Kind::kMins) {
        for (int p = 0; p < P; ++p)
          isum[p][t][1] = dot16(zero_i(), sums, load_i(a.offset + (p * a.blocks + b) * 16));
      }
    }
    const uint8_t* codes = a.codes + b * 512;
    const auto add = [&](const int8_t* term) BRASS_LAMBDA {
      BRASS_UNROLL
      for (int v = 0; v < 8; ++v) {
        const int h = kHalves ? v / 4 : 0;
        I u[P];
        for (int p = 0; p < P; ++p) u[p] = load_i(codes + p * panel_codes + 64 * v);
        BRASS_UNROLL
        for (int t = 0; t < T; ++t) {
          const I four = broadcast4(term + t * a.x_stride + 32 * b + 4 * v);
          for (int p = 0; p < P; ++p) isum[p][t][h] = dot_tile<wide>(isum[p][t][h], u[p], four);
        }
      }
    };
    add(x);
    if constexpr (kind == Kind::kTwoTerms) {
      // The second term goes on from 256 times the first, in the same registers: join_terms().
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        I zeros = zero_i();
        if constexpr (kDotExact || !wide)
          zeros =
              dot16(zeros, broadcast4(seconds16 + t * a.sum16_stride + 2 * b), minus_zero_pair(a.zero, -1));
        for (int p = 0; p < P; ++p) isum[p][t][0] = join_terms(isum[p][t][0], zeros);
      }
      add(x_seconds);
    }
    BRASS_UNROLL
    for (int p = 0; p < P; ++p) {
      F w_scale[kScales];
      for (uint32_t h = 0; h < kScales; ++h) {
        w_scale[h] = load(a.scale + p * panel_scale + (b * kScales + h) * 16);
      }
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        const size_t at = t * a.x_scale_stride + b;
        acc[p][t] = fma(scaled<kind>(isum[p][t], w_scale), set(x_scale[at]), acc[p][t]);
        if constexpr (kind == Kind::kOffset) {
          acc[p][t] = fma(load(a.offset + (p * a.blocks + b) * 16), set(x_sum[at]), acc[p][t]);
        }
      }
    }
  }
  for (int p = 0; p < P; ++p) {
    for (int t = 0; t < T; ++t) storeu(a.c_out + (token + t) * a.c_out_stride + 16 * p, acc[p][t]);
  }
}

template <int P, int T, Kind kind, bool wide>
void tile_rest(const TileArgs& a, uint32_t token) {
  if constexpr (T > 0) {
    if (a.tokens - token == T) return tile_tokens<P, T, kind, wide>(a, token);
    tile_rest<P, T - 1, kind, wide>(a, token);
  }
}

template <int P, Kind kind, bool wide>
void tile_panels(const TileArgs& a) {
  uint32_t token = 0;
  for (; token + kTileTokens <= a.tokens; token += kTileTokens) {
    tile_tokens<P, kTileTokens, kind, wide>(a, token);
  }
  tile_rest<P, kTileTokens - 1, kind, wide>(a, token);
}

template <Kind kind, bool wide>
void tile_kind(const TileArgs& a) {
  if constexpr (kTilePanels == 2) {
    if (a.panels == 2) return tile_panels<2, kind, wide>(a);
  }
  tile_panels<1, kind, wide>(a);
}

template <bool wide>
void tile_width(const TileArgs& a) {
  switch (a.kind) {
    case Kind::kPlain:
      return tile_kind<Kind::kPlain, wide>(a);
    case Kind::kTwoTerms:
      return tile_kind<Kind::kTwoTerms, wide>(a);
    case Kind::kOffset:
      return tile_kind<Kind::kOffset, wide>(a);
    case Kind::kHalves:
      return tile_kind<Kind::kHalves, wide>(a);
    case Kind::kMins:
      return tile_kind<Kind::kMins, wide>(a);
  }
}

void tile(const TileArgs& a) {
  if constexpr (!kDotExact) {
    if (a.zero == 128) return tile_width<true>(a);
  }
  tile_width<false>(a);
}

void enter_tiles(uint32_t, Kind) {}
void leave_tiles() {}

}  // namespace
}  // namespace brass::cpu
