// BF16 weights on processors that multiply pairs of them (AVX512-BF16): x is rounded to bf16 as well.
//
// The order over K is that of float_tile.h, 64 values to a sum, each step two of them. The unpacked form is
// [k/2][16 rows] pairs, the operand of the instruction; a last odd value is paired with zero.
#pragma once

#include "backend/cpu/isa/float_tile.h"

namespace brass::cpu {
namespace {

using Pairs = __m512bh;  // lane r: values k, k + 1 of row r, or of one token

BRASS_INLINE Pairs as_pairs(Ri a) { return reinterpret_cast<Pairs>(a); }
// Rows k and k + 1 of a packed panel; `whole`: there is a k + 1.
BRASS_INLINE Ri weight_pairs(const uint8_t* p, bool whole) {
  const Ri at = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(at, _mm512_maskz_loadu_epi16(whole ? 0xffffffff : 0xffff, p));
}

// n ≤ 64 values, rounded; zeros up to an even number.
BRASS_INLINE void round_values(const float* x, uint32_t n, uint32_t* pairs) {
  for (uint32_t i = 0; i < n; i += 32) {
    const uint32_t left = n - i;
    const __mmask16 low = left >= 16 ? 0xffff : static_cast<__mmask16>((1u << left) - 1);
    const __mmask16 high = left >= 32   ? 0xffff
                           : left <= 16 ? __mmask16{0}
                                        : static_cast<__mmask16>((1u << (left - 16)) - 1);
    const __m512 a = _mm512_maskz_loadu_ps(low, x + i), b = _mm512_maskz_loadu_ps(high, x + i + 16);
    _mm512_storeu_si512(pairs + i / 2, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(b, a)));
  }
}

template <int T>
void decode_bf16(const DecodeArgs& a) {
  alignas(64) uint32_t x[T][kPart / 2];
  for (uint32_t row = 0; row < a.rows; row += kPanelRows) {
    const uint8_t* panel = a.panels + row / kPanelRows * a.panel_bytes;
    F acc[T];
    for (int t = 0; t < T; ++t) acc[t] = zero();
    for (uint32_t k = 0; k < a.k; k += kPart) {
      const uint32_t length = a.k - k < kPart ? a.k - k : kPart;
      F part[T];
      for (int t = 0; t < T; ++t) {
        round_values(a.x.f32 + t * a.x.f32_stride + k, length, x[t]);
        part[t] = zero();
      }
      for (uint32_t i = 0; i < length; i += 2) {
        const uint8_t* at = panel + (k + i) * 32;
        _mm_prefetch(reinterpret_cast<const char*>(at + kPrefetchAhead), _MM_HINT_T0);
        const Pairs w = as_pairs(weight_pairs(at, i + 1 < length));
        BRASS_UNROLL
        for (int t = 0; t < T; ++t) {
          part[t].r[0] = _mm512_dpbf16_ps(part[t].r[0], w, as_pairs(broadcast4(&x[t][i / 2]).r[0]));
        }
      }
      for (int t = 0; t < T; ++t) acc[t] = acc[t] + part[t];
    }
    for (int t = 0; t < T; ++t) store_rows(a.y + t * a.y_stride + row, acc[t], a.rows - row);
  }
}

void fill_bf16_tile(const uint8_t* values, uint32_t k, float* tile) {
  for (uint32_t i = 0; i < k; i += 2) r_store_i(tile + i * 8, weight_pairs(values + i * 32, i + 1 < k));
}

struct PairRows {
  alignas(64) uint32_t x[kFloatTokens][kFloatTileK / 2];
};

template <int P, int T>
void bf16_tokens(const FloatTileArgs& a, const PairRows& rows, uint32_t token, uint32_t panel) {
  const float* weights = a.w + panel * a.panel_stride;
  F acc[P][T];
  for (uint32_t k = 0; k < a.k; k += kPart) {
    const uint32_t end = a.k - k < kPart ? a.k : k + kPart;
    for_tile<P, T>([&](int p, int t) BRASS_LAMBDA { acc[p][t] = zero(); });
    for (uint32_t i = k; i < end; i += 2) {
      Ri w[P];
      for (int p = 0; p < P; ++p) w[p] = r_load_i(weights + p * a.panel_stride + i * 8);
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        const Pairs x = as_pairs(broadcast4(&rows.x[t][i / 2]).r[0]);
        BRASS_UNROLL
        for (int p = 0; p < P; ++p) acc[p][t].r[0] = _mm512_dpbf16_ps(acc[p][t].r[0], as_pairs(w[p]), x);
      }
    }
    add_sums<P, T>(a, k, token, panel, acc);
  }
}

template <int T>
struct Bf16Tokens {
  static void run(const FloatTileArgs& a, uint32_t token) {
    PairRows rows;
    for (int t = 0; t < T; ++t) {
      for (uint32_t k = 0; k < a.k; k += kPart) {
        round_values(a.x + (token + t) * a.x_stride + k, a.k - k < kPart ? a.k - k : kPart,
                     rows.x[t] + k / 2);
      }
    }
    uint32_t panel = 0;
    for (; panel + kFloatPanels <= a.panels; panel += kFloatPanels) {
      bf16_tokens<kFloatPanels, T>(a, rows, token, panel);
    }
    if (panel < a.panels) bf16_tokens<1, T>(a, rows, token, panel);
  }
};

void bf16_tile(const FloatTileArgs& a) { all_tokens<Bf16Tokens>(a); }

}  // namespace
}  // namespace brass::cpu
