// Kernel A: 1 … 4 tokens against packed panels, everything in registers. One pass over the weights.
#pragma once

#include "backend/cpu/isa/traits.h"
#include "backend/cpu/parts.h"

namespace brass::cpu {
namespace {

// Weights come from memory once: how far ahead of the codes, beyond the scale records, lines are asked for.
constexpr size_t kPrefetchAhead = 4096;

// −zero as int16 pairs against pairs of sums of 16 codes: what turns unsigned codes into canonical ones.
// half −1: both 16s.
BRASS_INLINE I minus_zero_pair(uint32_t zero_point, int half) {
  const auto z = static_cast<uint16_t>(-static_cast<int32_t>(zero_point));
  const uint32_t low = half == 1 ? 0 : z, high = half == 0 ? 0 : z;
  return set_i(static_cast<int32_t>(low | high << 16));
}

template <class Tr>
BRASS_INLINE I dot_codes(I c, I u, I x) {
  if constexpr (Tr::kWide && !kDotExact) return dot_wide(c, u, x);
  return dot(c, u, x);
}
// dot_wide subtracts the zero itself.
template <class Tr>
constexpr bool kCorrects = Tr::kZero != 0 && (kDotExact || !Tr::kWide);

// The float order of a block, the same in every kernel: t = Σ halves isum · w_scale; acc += t · x_scale;
// acc += offset · x_sum.
template <int halves>
BRASS_INLINE F scaled(const I (&isum)[halves], const F (&w_scale)[halves]) {
  F t = to_float(isum[0]) * w_scale[0];
  if constexpr (halves == 2) t = fma(to_float(isum[1]), w_scale[1], t);
  return t;
}

template <class Tr, int T>
BRASS_INLINE void decode_block(const uint8_t* codes, const typename Tr::State& state, uint32_t j, uint32_t b,
                               const DecodeArgs& a, F (&acc)[T]) {
  constexpr int kHalves = Tr::kHalves;
  I isum[T][kHalves];
  BRASS_UNROLL
  for (int t = 0; t < T; ++t) {
    BRASS_UNROLL
    for (int h = 0; h < kHalves; ++h) {
      isum[t][h] = zero_i();
      if constexpr (kCorrects<Tr>) {
        isum[t][h] = dot16(zero_i(), broadcast4(a.sum16 + t * a.sum16_stride + 2 * b),
                           minus_zero_pair(Tr::kZero, kHalves == 1 ? -1 : h));
      }
    }
  }
  Tr::for_codes(codes, [&](int v, I u) BRASS_LAMBDA {
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) {
      I& c = isum[t][kHalves == 2 && v >= 4 ? 1 : 0];
      c = dot_codes<Tr>(c, u, broadcast4(a.x.codes + t * a.x.code_stride + 32 * b + 4 * v));
    }
  });
  F w_scale[kHalves];
  BRASS_UNROLL
  for (int h = 0; h < kHalves; ++h) w_scale[h] = Tr::scale(state, j, h);
  BRASS_UNROLL
  for (int t = 0; t < T; ++t) {
    const size_t at = t * a.x.scale_stride + b;
    acc[t] = fma(scaled(isum[t], w_scale), set(a.x.scale[at]), acc[t]);
    if constexpr (Tr::kOffset) acc[t] = fma(Tr::offset(state, j), set(a.x.sum[at]), acc[t]);
  }
}

BRASS_INLINE void store_rows(float* y, F acc, uint32_t rows) {
  if (rows >= kPanelRows) {
    storeu(y, acc);
  } else {
    store_part(y, acc, rows);
  }
}

template <class L, int T>
void decode(const DecodeArgs& a) {
  using Tr = Trait<L>;
  const uint32_t blocks = a.k / 32;
  const size_t scales = layout::scales_bytes<L>(blocks);
  // Lines are asked for in memory order at an even pace, ahead of both the records and the codes.
  const size_t pace = (a.panel_bytes + blocks - 1) / blocks;
  for (uint32_t row = 0; row < a.rows; row += kPanelRows) {
    const uint8_t* panel = a.panels + row / kPanelRows * a.panel_bytes;
    const uint8_t* codes = panel + scales;
    const uint8_t* ahead = panel + scales + kPrefetchAhead;
    F acc[T];
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) acc[t] = zero();
    typename Tr::State state;
    for (uint32_t b = 0; b < blocks; b += Tr::kSuper) {
      Tr::begin(state, panel + b / Tr::kSuper * Tr::kScales);
      for (uint32_t j = 0; j < Tr::kSuper; ++j) {
        for (size_t line = 0; line < pace; line += 64) {
          _mm_prefetch(reinterpret_cast<const char*>(ahead + line), _MM_HINT_T0);
        }
        ahead += pace;
        decode_block<Tr, T>(codes, state, j, b + j, a, acc);
        codes += Tr::kCodeBytes;
      }
    }
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) store_rows(a.y + t * a.y_stride + row, acc[t], a.rows - row);
  }
}

}  // namespace
}  // namespace brass::cpu
