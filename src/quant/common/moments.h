// The sums and roundings inside the encoders' searches.
//
// Invariants: n is a multiple of 8: sums run in 8 lanes, so that they vectorize and give the same bits
// everywhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "quant/common/levels.h"

namespace brass {

constexpr int kLanes = 8;
constexpr int kSuperBlock = 256;
constexpr int kRefits = 3;  // of the outer scale of a super-block; the error hardly falls after that

inline uint16_t saturated_f16(float f) { return f32_to_f16(clamp_to(f, -65504.0f, 65504.0f)); }
inline float reciprocal(float f) { return f == 0.0f ? 0.0f : 1.0f / f; }

inline float sum_of(const float (&lanes)[kLanes]) {
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

// The value of largest magnitude, with its sign; 0 for n = 0.
inline float largest_magnitude(const float* x, int n) {
  float largest = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(largest)) largest = x[i];
  }
  return largest;
}

// What a least-squares step for value = scale · code needs.
struct ScaleMoments {
  float xq, qq;  // Σ w x q, Σ w q²

  float best_scale() const { return qq > 0.0f ? xq / qq : 0.0f; }
  double loss(float scale) const {  // Σ w (x − scale · q)² − Σ w x²
    const double s = scale;
    return s * (s * qq - 2.0 * static_cast<double>(xq));
  }
};

template <class CodeAt>
ScaleMoments sum_scale_moments(const float* x, const float* w, int n, const CodeAt& code_at) {
  float xq[kLanes] = {}, qq[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = code_at(i + l);
      const float wq = w[i + l] * q;
      xq[l] += wq * x[i + l];
      qq[l] += wq * q;
    }
  }
  return {sum_of(xq), sum_of(qq)};
}

// With the codes that x · inverse rounds to.
template <class Levels>
ScaleMoments scale_moments(const float* x, const float* w, int n, const Levels& levels, float inverse) {
  return sum_scale_moments(x, w, n, [&](int i) { return levels.nearest(x[i] * inverse); });
}

// With given codes.
inline ScaleMoments code_moments(const float* x, const float* w, int n, const int8_t* code) {
  return sum_scale_moments(x, w, n, [&](int i) { return static_cast<float>(code[i]); });
}

// The codes for a given scale. Returns Σ w (x − scale · q)².
template <class Levels>
float round_to(const float* x, const float* w, int n, const Levels& levels, float scale, int8_t* code) {
  const float inverse = reciprocal(scale);
  float error[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = levels.nearest(x[i + l] * inverse);
      code[i + l] = static_cast<int8_t>(q);
      const float off = x[i + l] - scale * q;
      error[l] += w[i + l] * off * off;
    }
  }
  return sum_of(error);
}

}  // namespace brass
