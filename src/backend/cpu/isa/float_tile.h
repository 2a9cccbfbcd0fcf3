// Float weights (F32, F16, BF16) in f32 arithmetic. A panel is [k][16 rows] of the file's own values.
//
// The order over K, the same in both kernels: 64 values at a time into a sum that starts at zero, the sums
// added in order. Decode runs four such sums at once to hide latency.
#pragma once

#include "backend/cpu/isa/decode.h"

namespace brass::cpu {
namespace {

constexpr uint32_t kPart = 64;  // values of one sum

struct WeightF32 {
  static constexpr size_t kBytes = 4;
  BRASS_INLINE F at(const uint8_t* p, size_t i) { return load(reinterpret_cast<const float*>(p) + i); }
};
struct WeightF16 {
  static constexpr size_t kBytes = 2;
  BRASS_INLINE F at(const uint8_t* p, size_t i) { return from_f16(p + 2 * i); }
};
struct WeightBF16 {
  static constexpr size_t kBytes = 2;
  BRASS_INLINE F at(const uint8_t* p, size_t i) { return from_bf16(p + 2 * i); }
};

// acc[t] += n sums of `length` values from k on.
template <class W, int T, int n>
BRASS_INLINE void decode_parts(const uint8_t* panel, uint32_t k, uint32_t length, const DecodeArgs& a,
                               F (&acc)[T]) {
  F part[n][T];
  for (int j = 0; j < n; ++j) {
    for (int t = 0; t < T; ++t) part[j][t] = zero();
  }
  for (uint32_t i = k; i < k + length; ++i) {
    BRASS_UNROLL
    for (int j = 0; j < n; ++j) {
      const size_t at = i + j * kPart;
      _mm_prefetch(reinterpret_cast<const char*>(panel + at * 16 * W::kBytes + kPrefetchAhead * n),
                   _MM_HINT_T0);
      const F w = W::at(panel, at * 16);
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) part[j][t] = fma(w, set(a.x.f32[t * a.x.f32_stride + at]), part[j][t]);
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int t = 0; t < T; ++t) acc[t] = acc[t] + part[j][t];
  }
}

template <class W, int T>
void decode_float(const DecodeArgs& a) {
  for (uint32_t row = 0; row < a.rows; row += kPanelRows) {
    const uint8_t* panel = a.panels + row / kPanelRows * a.panel_bytes;
    F acc[T];
    for (int t = 0; t < T; ++t) acc[t] = zero();
    uint32_t k = 0;
    for (; k + 4 * kPart <= a.k; k += 4 * kPart) decode_parts<W, T, 4>(panel, k, kPart, a, acc);
    for (; k < a.k; k += kPart) decode_parts<W, T, 1>(panel, k, a.k - k < kPart ? a.k - k : kPart, a, acc);
    for (int t = 0; t < T; ++t) store_rows(a.y + t * a.y_stride + row, acc[t], a.rows - row);
  }
}

template <class W>
void expand(const uint8_t* values, size_t n, float* out) {
  for (size_t i = 0; i < n; i += 16) store(out + i, W::at(values, i));
}

#if defined(__AVX512VNNI__)
constexpr int kFloatPanels = 2, kFloatTokens = 12;
#elif defined(__AVX2__)
constexpr int kFloatPanels = 1, kFloatTokens = 6;
#else
constexpr int kFloatPanels = 1, kFloatTokens = 3;
#endif

// The x of a few tokens, copied: rows that lie a power of two apart would push each other out of L1.
struct FloatRows {
  alignas(64) float x[kFloatTokens][kFloatTileK];
};

template <int P, int T>
void float_tokens(const FloatTileArgs& a, const FloatRows& rows, uint32_t token, uint32_t panel) {
  const float* weights = a.w + panel * a.panel_stride;
  F acc[P][T];
  for (uint32_t k = 0; k < a.k; k += kPart) {
    const uint32_t end = a.k - k < kPart ? a.k : k + kPart;
    BRASS_UNROLL
    for (int p = 0; p < P; ++p) {
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) acc[p][t] = zero();
    }
    for (uint32_t i = k; i < end; ++i) {
      F w[P];
      BRASS_UNROLL
      for (int p = 0; p < P; ++p) w[p] = load(weights + p * a.panel_stride + i * 16);
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        const F one = set(rows.x[t][i]);
        BRASS_UNROLL
        for (int p = 0; p < P; ++p) acc[p][t] = fma(w[p], one, acc[p][t]);
      }
    }
    const float* in = k == 0 ? a.c_in : a.c_out;
    const size_t in_stride = k == 0 ? a.c_in_stride : a.c_out_stride;
    BRASS_UNROLL
    for (int p = 0; p < P; ++p) {
      BRASS_UNROLL
      for (int t = 0; t < T; ++t) {
        const size_t column = 16 * (panel + p);
        const F c = in == nullptr ? zero() : loadu(in + (token + t) * in_stride + column);
        storeu(a.c_out + (token + t) * a.c_out_stride + column, c + acc[p][t]);
      }
    }
  }
}

template <int T>
void float_panels(const FloatTileArgs& a, uint32_t token) {
  FloatRows rows;
  for (int t = 0; t < T; ++t)
    __builtin_memcpy(rows.x[t], a.x + (token + t) * a.x_stride, a.k * sizeof(float));
  uint32_t panel = 0;
  for (; panel + kFloatPanels <= a.panels; panel += kFloatPanels) {
    float_tokens<kFloatPanels, T>(a, rows, token, panel);
  }
  if constexpr (kFloatPanels > 1) {
    if (panel < a.panels) float_tokens<1, T>(a, rows, token, panel);
  }
}

template <int T>
void float_rest(const FloatTileArgs& a, uint32_t token) {
  if constexpr (T > 0) {
    if (a.tokens - token == T) return float_panels<T>(a, token);
    float_rest<T - 1>(a, token);
  }
}

void float_tile(const FloatTileArgs& a) {
  uint32_t token = 0;
  for (; token + kFloatTokens <= a.tokens; token += kFloatTokens) float_panels<kFloatTokens>(a, token);
  float_rest<kFloatTokens - 1>(a, token);
}

}  // namespace
}  // namespace brass::cpu
