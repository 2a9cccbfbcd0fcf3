// Float weights (F32, F16, BF16) in f32 arithmetic. A panel is [k][16 rows] of the file's own values.
//
// The order over K, the same in both kernels: 64 values at a time into a sum that starts at zero, the sums
// added in order.
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

// One sum of 64 values after the other, in the order of memory: four at once, 64 values apart, hide the latency
// of the additions but halve the rate of reading.
template <class W, int T>
void decode_float(const DecodeArgs& a) {
  for (uint32_t row = 0; row < a.rows; row += kPanelRows) {
    const uint8_t* panel = a.panels + row / kPanelRows * a.panel_bytes;
    F acc[T];
    for (int t = 0; t < T; ++t) acc[t] = zero();
    for (uint32_t k = 0; k < a.k; k += kPart) {
      const uint32_t end = a.k - k < kPart ? a.k : k + kPart;
      F part[T];
      for (int t = 0; t < T; ++t) part[t] = zero();
      for (uint32_t i = k; i < end; ++i) {
        const uint8_t* at = panel + i * (16 * W::kBytes);
        _mm_prefetch(reinterpret_cast<const char*>(at + kPrefetchAhead), _MM_HINT_T0);
        const F w = W::at(at, 0);
        BRASS_UNROLL
        for (int t = 0; t < T; ++t) part[t] = fma(w, set(a.x.f32[t * a.x.f32_stride + i]), part[t]);
      }
      for (int t = 0; t < T; ++t) acc[t] = acc[t] + part[t];
    }
    for (int t = 0; t < T; ++t) store_rows(a.y + t * a.y_stride + row, acc[t], a.rows - row);
  }
}

template <class W>
void expand(const uint8_t* values, size_t n, float* out) {
  for (size_t i = 0; i < n; i += 16) store(out + i, W::at(values, i));
}
template <class W>
void fill_tile(const uint8_t* values, uint32_t k, float* tile) {
  expand<W>(values, size_t{k} * 16, tile);
}

#if defined(__AVX512VNNI__)
constexpr int kFloatPanels = 2, kFloatTokens = 12;
#elif defined(__AVX2__)
constexpr int kFloatPanels = 1, kFloatTokens = 6;
#else
constexpr int kFloatPanels = 1, kFloatTokens = 3;
#endif

template <int P, int T, class Fn>
BRASS_INLINE void for_tile(Fn f) {
  BRASS_UNROLL
  for (int p = 0; p < P; ++p) {
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) f(p, t);
  }
}

// C + the sums that began at value k.
template <int P, int T>
BRASS_INLINE void add_sums(const FloatTileArgs& a, uint32_t k, uint32_t token, uint32_t panel,
                           const F (&sum)[P][T]) {
  const float* in = k == 0 ? a.c_in : a.c_out;
  const size_t in_stride = k == 0 ? a.c_in_stride : a.c_out_stride;
  for_tile<P, T>([&](int p, int t) BRASS_LAMBDA {
    const size_t column = 16 * (panel + p);
    const F c = in == nullptr ? zero() : loadu(in + (token + t) * in_stride + column);
    storeu(a.c_out + (token + t) * a.c_out_stride + column, c + sum[p][t]);
  });
}

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
    for_tile<P, T>([&](int p, int t) BRASS_LAMBDA { acc[p][t] = zero(); });
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
    add_sums<P, T>(a, k, token, panel, acc);
  }
}

template <int T>
struct FloatTokens {
  static void run(const FloatTileArgs& a, uint32_t token) {
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
};

// All tokens, kFloatTokens at a time, by Tokens<n>::run.
template <template <int> class Tokens, int T>
void rest_of_tokens(const FloatTileArgs& a, uint32_t token) {
  if constexpr (T > 0) {
    if (a.tokens - token == T) return Tokens<T>::run(a, token);
    rest_of_tokens<Tokens, T - 1>(a, token);
  }
}
template <template <int> class Tokens>
void all_tokens(const FloatTileArgs& a) {
  uint32_t token = 0;
  for (; token + kFloatTokens <= a.tokens; token += kFloatTokens) Tokens<kFloatTokens>::run(a, token);
  rest_of_tokens<Tokens, kFloatTokens - 1>(a, token);
}

void float_tile(const FloatTileArgs& a) { all_tokens<FloatTokens>(a); }

}  // namespace
}  // namespace brass::cpu
