// Order statistics and intervals of measured values.
//
// Owns: median, percentile, bootstrap intervals of a ratio.
// Must not know: what was measured.
// Invariants: values are finite; the same values and seed give the same interval on every machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace brass::report {

// The value below which the share q in [0, 1] of the values lies, interpolated linearly between order
// statistics (Hyndman, Fan 1996, definition 7). values: at least one, in any order.
double percentile(std::span<const double> values, double q);

double median(std::span<const double> values);

// Values further from the median than five times the median distance, and than 2 %: they count, and they are named.
size_t far_off(std::span<const double> values);

struct Interval {
  double low, middle, high;  // middle: the statistic of the values themselves
  // The longer side of the interval, as a share of the middle.
  double half_width() const { return std::max(high / middle - 1, 1 - low / middle); }
};

// median(a) / median(b) with its 95 % percentile-bootstrap interval (Efron, Tibshirani 1993, chapter 13), for
// samples taken apart: each side is resampled by itself. b: positive values.
Interval ratio_interval(std::span<const double> a, std::span<const double> b, uint64_t seed = 1);

// The same for values measured in turns (a[i] and b[i] in round i, so that both met the same state of the
// machine): rounds are resampled whole, and the statistic is the median of a[i] / b[i]. Sizes are equal.
Interval paired_ratio_interval(std::span<const double> a, std::span<const double> b, uint64_t seed = 1);

}  // namespace brass::report
