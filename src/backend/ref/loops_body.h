// The loops of loops.h for vectors of W floats and tiles of A × B dot products. Included by units that are
// compiled for one vector width each: internal linkage and no library headers, so that no code of theirs is
// shared.
#pragma once

#include "backend/ref/loops.h"

namespace brass::ref {
namespace {

template <int W>
struct Vector {
  typedef float type __attribute__((vector_size(W * sizeof(float))));
};

template <int W>
inline __attribute__((always_inline)) void load(typename Vector<W>::type& to, const float* from) {
  __builtin_memcpy(&to, from, sizeof to);
}

inline double join(const float* lanes) {
  double d[8];
  for (int i = 0; i < 8; i++) d[i] = static_cast<double>(lanes[i]) + static_cast<double>(lanes[i + 8]);
  for (int i = 0; i < 4; i++) d[i] += d[i + 4];
  return (d[0] + d[2]) + (d[1] + d[3]);
}

template <int W, int A, int B>
inline void dot_tile(const float* a, size_t a_stride, const float* b, size_t b_stride, uint32_t n,
                     double* sums, size_t sums_stride) {
  using V = typename Vector<W>::type;
  constexpr int kParts = static_cast<int>(kLanes) / W;
  V sum[A][B][kParts] = {};
  for (uint32_t k = 0; k < n; k += kLanes) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; p++) {
      V left[A];
#pragma GCC unroll 8
      for (int i = 0; i < A; i++) load<W>(left[i], a + static_cast<size_t>(i) * a_stride + k + p * W);
#pragma GCC unroll 8
      for (int j = 0; j < B; j++) {
        V right;
        load<W>(right, b + static_cast<size_t>(j) * b_stride + k + p * W);
#pragma GCC unroll 8
        for (int i = 0; i < A; i++) sum[i][j][p] += left[i] * right;
      }
    }
  }
  for (int i = 0; i < A; i++) {
    for (int j = 0; j < B; j++) {
      float lanes[kLanes];
      __builtin_memcpy(lanes, &sum[i][j], sizeof lanes);
      sums[static_cast<size_t>(i) * sums_stride + static_cast<size_t>(j)] += join(lanes);
    }
  }
}

template <int W, int A, int B>
inline void dot_rows(const float* a, size_t a_stride, const float* b, size_t b_stride, uint32_t b_rows,
                     uint32_t n, double* sums, size_t sums_stride) {
  uint32_t j = 0;
  for (; j + B <= b_rows; j += B)
    dot_tile<W, A, B>(a, a_stride, b + j * b_stride, b_stride, n, sums + j, sums_stride);
  for (; j < b_rows; j++)
    dot_tile<W, A, 1>(a, a_stride, b + j * b_stride, b_stride, n, sums + j, sums_stride);
}

template <int W, int A, int B>
void dots(const float* a, size_t a_stride, uint32_t a_rows, const float* b, size_t b_stride, uint32_t b_rows,
          uint32_t n, double* sums, size_t sums_stride) {
  uint32_t i = 0;
  for (; i + A <= a_rows; i += A)
    dot_rows<W, A, B>(a + i * a_stride, a_stride, b, b_stride, b_rows, n, sums + i * sums_stride,
                      sums_stride);
  for (; i < a_rows; i++)
    dot_rows<W, 1, B>(a + i * a_stride, a_stride, b, b_stride, b_rows, n, sums + i * sums_stride,
                      sums_stride);
}

template <int W, int Parts>
inline void weighted_part(const float* weight, uint32_t count, const float* rows, size_t stride,
                          double* out) {
  using V = typename Vector<W>::type;
  V sum[Parts] = {};
  for (uint32_t i = 0; i < count; i++) {
    const float* row = rows + i * stride;
#pragma GCC unroll 16
    for (int p = 0; p < Parts; p++) {
      V v;
      load<W>(v, row + p * W);
      sum[p] += v * weight[i];
    }
  }
  float values[Parts * W];
  __builtin_memcpy(values, sum, sizeof values);
  for (int d = 0; d < Parts * W; d++) out[d] += static_cast<double>(values[d]);
}

template <int W, int Parts>
void weighted_sum(const float* weight, uint32_t count, const float* rows, size_t stride, uint32_t width,
                  double* out) {
  constexpr uint32_t kWide = Parts * W;
  uint32_t d = 0;
  for (; d + kWide <= width; d += kWide) weighted_part<W, Parts>(weight, count, rows + d, stride, out + d);
  for (; d < width; d += kLanes)
    weighted_part<W, static_cast<int>(kLanes) / W>(weight, count, rows + d, stride, out + d);
}

}  // namespace
}  // namespace brass::ref
