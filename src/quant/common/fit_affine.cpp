#include <algorithm>
#include <cmath>
#include <limits>

#include "base/half.h"
#include "quant/common/fit.h"
#include "quant/common/moments.h"

namespace brass {
namespace {

struct Line {  // value = scale · code − min
  float scale, min;
};

// What a least-squares step for value = scale · code − min needs, and the error it leads to.
struct LineMoments {
  float w, x, q, xq, qq;  // Σ w, Σ w x, Σ w q, Σ w x q, Σ w q²

  // The line of least error; with `mins_only`, among those with min ≥ 0.
  Line best(bool mins_only) const {
    const double determinant = static_cast<double>(w) * qq - static_cast<double>(q) * q;
    if (determinant > 0) {
      const double scale = (static_cast<double>(w) * xq - static_cast<double>(x) * q) / determinant;
      const double min = (static_cast<double>(q) * xq - static_cast<double>(qq) * x) / determinant;
      if (!mins_only || min >= 0) return {static_cast<float>(scale), static_cast<float>(min)};
    }
    if (qq > 0 && mins_only) return {xq / qq, 0.0f};
    return {0.0f, w > 0 ? -x / w : 0.0f};
  }

  // Σ w (x − value)² − Σ w x².
  double loss(Line line) const {
    const double s = line.scale, m = line.min;
    return s * s * qq - 2 * s * m * q + m * m * w - 2 * s * xq + 2 * m * x;
  }
};

LineMoments line_moments(const float* x, const float* w, int n, float highest, Line line) {
  const float inverse = reciprocal(line.scale);
  float sw[kLanes] = {}, sx[kLanes] = {}, sq[kLanes] = {}, sxq[kLanes] = {}, sqq[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = clamp_to(std::nearbyint((x[i + l] + line.min) * inverse), 0.0f, highest);
      const float wq = w[i + l] * q;
      sw[l] += w[i + l];
      sx[l] += w[i + l] * x[i + l];
      sq[l] += wq;
      sxq[l] += wq * x[i + l];
      sqq[l] += wq * q;
    }
  }
  return {sum_of(sw), sum_of(sx), sum_of(sq), sum_of(sxq), sum_of(sqq)};
}

float round_to_line(const float* x, const float* w, int n, float highest, Line line, int8_t* code) {
  const float inverse = reciprocal(line.scale);
  float error[kLanes] = {};
  for (int i = 0; i < n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const float q = clamp_to(std::nearbyint((x[i + l] + line.min) * inverse), 0.0f, highest);
      code[i + l] = static_cast<int8_t>(q);
      const float off = x[i + l] - (line.scale * q - line.min);
      error[l] += w[i + l] * off * off;
    }
  }
  return sum_of(error);
}

struct Range {
  float lo, hi;
};

Range range_of(const float* x, int n) {
  Range r{x[0], x[0]};
  for (int i = 1; i < n; ++i) r = {std::min(r.lo, x[i]), std::max(r.hi, x[i])};
  return r;
}

// The real line of least error. Starting lines spread the range of x over a few codes more or less than there
// are.
Line fit_line(const float* x, const float* w, int n, float highest, bool mins_only) {
  Range range = range_of(x, n);
  if (mins_only) range = {std::min(range.lo, 0.0f), std::max(range.hi, 0.0f)};
  if (range.hi == range.lo) return {0.0f, -range.lo};
  Line best{0.0f, mins_only ? std::max(-range.lo, 0.0f) : -range.lo};
  double best_loss = std::numeric_limits<double>::max();
  const auto improve = [&](Line start) {
    const LineMoments m = line_moments(x, w, n, highest, start);
    const Line line = m.best(mins_only);
    const double loss = m.loss(line);
    if (line.scale < 0 || loss >= best_loss) return false;
    best = line, best_loss = loss;
    return true;
  };
  for (int step = -8; step <= 16; ++step) {
    const float codes = highest * (1.0f + 0.025f * static_cast<float>(step));
    improve({(range.hi - range.lo) / codes, -range.lo});
  }
  for (int round = 0; round < 4 && improve(best); ++round) continue;
  return best;
}

// Scale and min of one group, integers 0 … highest_scale around the wanted line, by trying the nine
// neighbours.
struct GroupPick {
  int scale, min;
};
GroupPick pick_line(const float* x, const float* w, int n, float highest, Line unit, Line wanted,
                    int highest_scale, int8_t* code) {
  const auto nearest = [&](float value, float step) {
    return static_cast<int>(
        clamp_to(std::nearbyint(value * reciprocal(step)), 0.0f, static_cast<float>(highest_scale)));
  };
  const int scale = nearest(wanted.scale, unit.scale), min = nearest(wanted.min, unit.min);
  GroupPick best{0, 0};
  float best_error = std::numeric_limits<float>::max();
  for (int s = std::max(scale - 1, 0); s <= std::min(scale + 1, highest_scale); ++s) {
    for (int m = std::max(min - 1, 0); m <= std::min(min + 1, highest_scale); ++m) {
      int8_t trial[kSuperBlock];
      const Line line{unit.scale * static_cast<float>(s), unit.min * static_cast<float>(m)};
      const float error = round_to_line(x, w, n, highest, line, trial);
      if (error < best_error) {
        best_error = error, best = {s, m};
        std::copy_n(trial, n, code);
      }
    }
  }
  return best;
}

double error_of(const float* x, const float* w, int group, const NestedScalesAndMins& fit) {
  const float d = f16_to_f32(fit.d), dmin = f16_to_f32(fit.dmin);
  double error = 0;
  for (int i = 0; i < kSuperBlock; ++i) {
    const float scale = d * fit.scale[i / group], min = dmin * fit.min[i / group];
    const float off = x[i] - (scale * static_cast<float>(fit.code[i]) - min);
    error += static_cast<double>(w[i] * off * off);
  }
  return error;
}

// d and dmin for given scales, mins and codes, by least squares.
Line refit_units(const float* x, const float* w, int group, const NestedScalesAndMins& fit) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;  // x ≈ d · a − dmin · b
  for (int i = 0; i < kSuperBlock; ++i) {
    const double a = fit.scale[i / group] * fit.code[i], b = fit.min[i / group];
    aa += w[i] * a * a, ab += w[i] * a * b, bb += w[i] * b * b;
    ax += w[i] * a * x[i], bx += w[i] * b * x[i];
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant > 0) {
    const double d = (bb * ax - ab * bx) / determinant, dmin = (ab * ax - aa * bx) / determinant;
    if (d > 0 && dmin >= 0) return {static_cast<float>(d), static_cast<float>(dmin)};
  }
  return {aa > 0 ? static_cast<float>(std::max(ax / aa, 0.0)) : 0.0f, 0.0f};
}

}  // namespace

ScaleAndOffset fit_scale_and_offset_f16(const float* x, const float* w, int n, int highest, int8_t* code) {
  const auto top = static_cast<float>(highest);
  const Line line = fit_line(x, w, n, top, false);
  const ScaleAndOffset out{saturated_f16(line.scale), saturated_f16(-line.min)};
  const float error = round_to_line(x, w, n, top, {f16_to_f32(out.d), -f16_to_f32(out.m)}, code);
  // Near the smallest f16 its rounding can be worse than nothing.
  const Line zero{0.0f, 0.0f};
  int8_t zeros[kSuperBlock];
  if (error <= round_to_line(x, w, n, top, zero, zeros)) return out;
  std::fill_n(code, n, int8_t{0});
  return {0, 0};
}

NestedScalesAndMins fit_nested_affine(const float* x, const float* w, int group, int highest,
                                      int highest_scale) {
  const auto top = static_cast<float>(highest);
  const int groups = kSuperBlock / group;
  Line wanted[16];
  Line largest{0.0f, 0.0f};
  for (int g = 0; g < groups; ++g) {
    wanted[g] = fit_line(x + g * group, w + g * group, group, top, true);
    largest = {std::max(largest.scale, wanted[g].scale), std::max(largest.min, wanted[g].min)};
  }
  Line units{largest.scale / static_cast<float>(highest_scale),
             largest.min / static_cast<float>(highest_scale)};
  NestedScalesAndMins best{};
  double best_error = error_of(x, w, group, best);
  for (int round = 0; round < kRefits; ++round) {
    NestedScalesAndMins fit{};
    fit.d = saturated_f16(units.scale), fit.dmin = saturated_f16(units.min);
    for (int g = 0; g < groups; ++g) {
      const int at = g * group;
      const GroupPick pick = pick_line(x + at, w + at, group, top, {f16_to_f32(fit.d), f16_to_f32(fit.dmin)},
                                       wanted[g], highest_scale, fit.code + at);
      fit.scale[g] = static_cast<uint8_t>(pick.scale), fit.min[g] = static_cast<uint8_t>(pick.min);
    }
    const double error = error_of(x, w, group, fit);
    if (error < best_error) best = fit, best_error = error;
    units = refit_units(x, w, group, fit);
  }
  return best;
}

}  // namespace brass
