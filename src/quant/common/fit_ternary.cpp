#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/half.h"
#include "quant/common/fit.h"
#include "quant/common/moments.h"

namespace brass {

// For a given d the values of magnitude above d / 2 are those with a code ±1, so the best set of them is the
// k largest for some k; its best d is their weighted mean magnitude, and it lowers Σ w x² by (Σ w |x|)² / Σ w
// over the set.
uint16_t fit_ternary_f16(const float* x, const float* w, int n, int8_t* code) {
  int order[kSuperBlock];
  std::iota(order, order + n, 0);
  std::sort(order, order + n, [&](int a, int b) { return std::fabs(x[a]) > std::fabs(x[b]); });
  float wx = 0, ww = 0, best_gain = 0, d = 0;
  for (int k = 0; k < n; ++k) {
    wx += w[order[k]] * std::fabs(x[order[k]]);
    ww += w[order[k]];
    if (ww > 0.0f && wx * wx > best_gain * ww) best_gain = wx * wx / ww, d = wx / ww;
  }
  const uint16_t stored = saturated_f16(d);
  round_to(x, w, n, UniformLevels(-1, 1), f16_to_f32(stored), code);
  return stored;
}

}  // namespace brass
