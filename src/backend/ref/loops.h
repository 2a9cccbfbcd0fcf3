// The two inner loops of the reference device, compiled for several vector widths.
//
// Owns: the order of their arithmetic. Invariant: every build gives the same bits. A dot product is 16
// partial sums in f32 (lane i adds products k ≡ i mod 16 in order, product and sum each rounded), joined in
// f64 as a fixed tree.
#pragma once

#include <cstddef>
#include <cstdint>

namespace brass::ref {

inline constexpr uint32_t kLanes = 16;    // lengths are padded to it with zeros
inline constexpr uint32_t kPanel = 1024;  // products that stay in f32 before their sums go to f64

struct Loops {
  const char* name;
  // sums[i][j] += Σ_k a[i][k] · b[j][k], k < n; n a multiple of kLanes, ≤ kPanel. Strides in values.
  void (*dots)(const float* a, size_t a_stride, uint32_t a_rows, const float* b, size_t b_stride,
               uint32_t b_rows, uint32_t n, double* sums, size_t sums_stride);
  // out[d] += Σ_i weight[i] · rows[i][d] for d < width (a multiple of kLanes), the inner sum in f32 in order
  // of i.
  void (*weighted_sum)(const float* weight, uint32_t count, const float* rows, size_t stride, uint32_t width,
                       double* out);
};

extern const Loops kLoopsBase, kLoopsAvx2, kLoopsAvx512;

// The widest that this machine runs.
const Loops& pick_loops();

}  // namespace brass::ref
