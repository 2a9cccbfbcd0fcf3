// Seconds a token over depth, as measured: the fit, and workloads composed from it.
//
// Owns: the line a + b · depth with its intervals, the integral of a measured curve.
// Must not know: phases' names, models.
// Invariants: depth counts the positions cached before the token; points are sorted by depth, each once;
// inside the measured depths a composition interpolates between medians, beyond them it follows the fit's
// slope from the last one, and says so.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/statistics.h"

namespace brass::report {

struct CurvePoint {
  double depth = 0;
  std::vector<double> seconds;  // a token; one a round, at least one
};

struct LineFit {
  Interval a, b;          // seconds a token at depth 0; seconds a token more for each position
  double worst_residual;  // largest |median ÷ line − 1| over the points
  double at(double depth) const { return a.middle + b.middle * depth; }
};

// seconds = a + b · depth by least squares of the relative error, 95 % bootstrap intervals (rounds resampled
// within each point). Nothing for fewer than two depths.
std::optional<LineFit> fit_line(std::span<const CurvePoint> points, uint64_t seed = 1);

class Curve {
 public:
  Curve() = default;
  explicit Curve(std::vector<CurvePoint> points);

  bool empty() const { return points_.empty(); }
  std::span<const CurvePoint> points() const { return points_; }
  const std::optional<LineFit>& fit() const { return fit_; }
  double deepest() const { return points_.empty() ? 0 : points_.back().depth; }

  double at(double depth) const;  // seconds a token
  // The same with its 95 % bootstrap interval: the rounds of every point are resampled.
  Interval interval_at(double depth, uint64_t seed = 1) const;
  // The fewest rounds of a point that at(depth) comes from: of one alone an interval says nothing.
  size_t rounds_at(double depth) const;
  // Seconds of all tokens at depths begin, begin + 1, … end − 1.
  double sum(double begin, double end) const;
  // Whether sum(begin, end) leaves the measured depths by more than a tenth of the deepest one: then it is an
  // extrapolation by the fitted slope.
  bool extrapolates(double end) const;

 private:
  double at(double depth, std::span<const double> values) const;

  std::vector<CurvePoint> points_;
  std::vector<double> medians_;
  std::optional<LineFit> fit_;
};

}  // namespace brass::report
