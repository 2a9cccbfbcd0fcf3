#include "report/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace brass::report {
namespace {

constexpr int kResamples = 10000;

double percentile_of_sorted(std::span<const double> sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

// Fills `to` with values drawn from `from` with replacement, and returns their median.
double resampled_median(std::span<const double> from, std::vector<double>& to, Rng& rng) {
  to.resize(from.size());
  for (double& value : to) value = from[rng.below(from.size())];
  std::ranges::sort(to);
  return percentile_of_sorted(to, 0.5);
}

Interval interval_of(std::vector<double> statistics, double middle) {
  std::ranges::sort(statistics);
  return {percentile_of_sorted(statistics, 0.025), middle, percentile_of_sorted(statistics, 0.975)};
}

}  // namespace

double percentile(std::span<const double> values, double q) {
  ENSURE(!values.empty() && q >= 0 && q <= 1, "{} values, q {}", values.size(), q);
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return percentile_of_sorted(sorted, q);
}

double median(std::span<const double> values) { return percentile(values, 0.5); }

size_t far_off(std::span<const double> values) {
  if (values.empty()) return 0;
  const double middle = median(values);
  std::vector<double> distances;
  for (const double v : values) distances.push_back(std::abs(v - middle));
  const double limit = std::max(5 * median(distances), 0.02 * std::abs(middle));
  return static_cast<size_t>(std::ranges::count_if(distances, [&](double d) { return d > limit; }));
}

Interval ratio_interval(std::span<const double> a, std::span<const double> b, uint64_t seed) {
  ENSURE(!b.empty() && *std::ranges::min_element(b) > 0, "a ratio to values that are not positive");
  Rng rng(seed);
  std::vector<double> scratch, ratios;
  for (int i = 0; i < kResamples; ++i) {
    const double numerator = resampled_median(a, scratch, rng);
    ratios.push_back(numerator / resampled_median(b, scratch, rng));
  }
  return interval_of(std::move(ratios), median(a) / median(b));
}

Interval paired_ratio_interval(std::span<const double> a, std::span<const double> b, uint64_t seed) {
  ENSURE(a.size() == b.size() && !b.empty(), "{} and {} values are no pairs", a.size(), b.size());
  ENSURE(*std::ranges::min_element(b) > 0, "a ratio to values that are not positive");
  std::vector<double> pairs(a.size());
  for (size_t i = 0; i < a.size(); ++i) pairs[i] = a[i] / b[i];
  Rng rng(seed);
  std::vector<double> scratch, medians;
  for (int i = 0; i < kResamples; ++i) medians.push_back(resampled_median(pairs, scratch, rng));
  return interval_of(std::move(medians), median(pairs));
}

}  // namespace brass::report
