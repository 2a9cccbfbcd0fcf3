#include "quant/common/fit.h"

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "quant/common/moments.h"

namespace brass {
namespace {

// The scale of least error among those that `stored` rounds to.
template <class Levels, class Stored>
float fit_scale(const float* x, const float* w, int n, const Levels& levels, const Stored& stored) {
  const float largest = largest_magnitude(x, n);
  float best = 0.0f;
  double best_loss = 0.0;
  const auto consider = [&](float inverse) {
    const ScaleMoments m = scale_moments(x, w, n, levels, inverse);
    const float scale = stored(m.best_scale());
    if (m.loss(scale) < best_loss) best = scale, best_loss = m.loss(scale);
  };
  if (largest == 0.0f) return 0.0f;
  for (const float aim : levels.aims()) consider(aim / largest);
  consider(reciprocal(best));
  return best;
}

float as_is(float scale) { return scale; }
float as_f16(float scale) { return f16_to_f32(saturated_f16(scale)); }

// The best of the stored scales around `wanted`, an integer within lowest … −lowest − 1, for one group.
template <class Levels>
int pick_scale(const float* x, const float* w, int n, const Levels& levels, float d, float wanted, int lowest,
               int8_t* code) {
  const int middle = static_cast<int>(clamp_to(std::nearbyint(wanted * reciprocal(d)),
                                               static_cast<float>(lowest), static_cast<float>(-lowest - 1)));
  int best = middle;
  float best_error = round_to(x, w, n, levels, d * static_cast<float>(middle), code);
  for (const int other : {std::max(middle - 1, lowest), std::min(middle + 1, -lowest - 1)}) {
    int8_t trial[256];
    const float error = round_to(x, w, n, levels, d * static_cast<float>(other), trial);
    if (error < best_error) {
      best_error = error, best = other;
      std::copy_n(trial, n, code);
    }
  }
  return best;
}

// d for given scales and codes, by least squares.
float refit_d(const float* x, const float* w, int group, const NestedScales& fit) {
  double xq = 0, qq = 0;
  for (int g = 0; g < kSuperBlock / group; ++g) {
    const ScaleMoments m = code_moments(x + g * group, w + g * group, group, fit.code + g * group);
    xq += static_cast<double>(m.xq) * fit.scale[g];
    qq += static_cast<double>(m.qq) * fit.scale[g] * fit.scale[g];
  }
  return qq > 0 ? static_cast<float>(xq / qq) : 0.0f;
}

float error_of(const float* x, const float* w, int group, const NestedScales& fit) {
  float error = 0;
  for (int i = 0; i < kSuperBlock; ++i) {
    const float scale = f16_to_f32(fit.d) * static_cast<float>(fit.scale[i / group]);
    const float off = x[i] - scale * static_cast<float>(fit.code[i]);
    error += w[i] * off * off;
  }
  return error;
}

}  // namespace

template <class Levels>
uint16_t fit_scale_f16(const float* x, const float* w, int n, const Levels& levels, int8_t* code) {
  const float scale = fit_scale(x, w, n, levels, as_f16);
  round_to(x, w, n, levels, scale, code);
  return f32_to_f16(scale);
}

template <class Levels>
NestedScales fit_nested(const float* x, const float* w, int group, const Levels& levels, int lowest_scale) {
  float wanted[16];
  const int groups = kSuperBlock / group;
  for (int g = 0; g < groups; ++g) wanted[g] = fit_scale(x + g * group, w + g * group, group, levels, as_is);
  NestedScales best{};
  float best_error = error_of(x, w, group, best);
  float d = largest_magnitude(wanted, groups) / static_cast<float>(lowest_scale);
  for (int round = 0; round < kRefits; ++round) {
    NestedScales fit;
    fit.d = saturated_f16(d);
    for (int g = 0; g < groups; ++g) {
      const int at = g * group;
      fit.scale[g] = static_cast<int8_t>(pick_scale(x + at, w + at, group, levels, f16_to_f32(fit.d),
                                                    wanted[g], lowest_scale, fit.code + at));
    }
    const float error = error_of(x, w, group, fit);
    if (error < best_error) best = fit, best_error = error;
    d = refit_d(x, w, group, fit);
  }
  return best;
}

template uint16_t fit_scale_f16(const float*, const float*, int, const UniformLevels&, int8_t*);
template uint16_t fit_scale_f16(const float*, const float*, int, const TableLevels&, int8_t*);
template NestedScales fit_nested(const float*, const float*, int, const UniformLevels&, int);
template NestedScales fit_nested(const float*, const float*, int, const TableLevels&, int);

}  // namespace brass
