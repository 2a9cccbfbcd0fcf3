#include "report/curve.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace brass::report {
namespace {

constexpr int kResamples = 2000;

struct Line {
  double a, b;
};

// Least squares of (a + b·x − y) ÷ y: a slow point weighs no more than a fast one.
Line line_through(std::span<const double> x, std::span<const double> y) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double weight = 1 / (y[i] * y[i]);
    w += weight;
    wx += weight * x[i];
    wy += weight * y[i];
    wxx += weight * x[i] * x[i];
    wxy += weight * x[i] * y[i];
  }
  const double b = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  return {(wy - b * wx) / w, b};
}

// One value a point: the median of its rounds, or of rounds drawn from them.
Line resampled_line(std::span<const CurvePoint> points, std::span<const double> x, Rng& rng) {
  std::vector<double> y, drawn;
  for (const CurvePoint& p : points) {
    drawn.resize(p.seconds.size());
    for (double& value : drawn) value = p.seconds[rng.below(p.seconds.size())];
    y.push_back(median(drawn));
  }
  return line_through(x, y);
}

}  // namespace

std::optional<LineFit> fit_line(std::span<const CurvePoint> points, uint64_t seed) {
  if (points.size() < 2) return std::nullopt;
  std::vector<double> x, y;
  for (const CurvePoint& p : points) {
    x.push_back(p.depth);
    y.push_back(median(p.seconds));
    ENSURE(y.back() > 0 && *std::ranges::min_element(p.seconds) > 0, "a token that took no time");
  }
  const Line line = line_through(x, y);
  Rng rng(seed);
  std::vector<double> as, bs;
  for (int i = 0; i < kResamples; ++i) {
    const Line drawn = resampled_line(points, x, rng);
    as.push_back(drawn.a);
    bs.push_back(drawn.b);
  }
  LineFit fit{.a = {percentile(as, 0.025), line.a, percentile(as, 0.975)},
              .b = {percentile(bs, 0.025), line.b, percentile(bs, 0.975)},
              .worst_residual = 0};
  for (size_t i = 0; i < x.size(); ++i)
    fit.worst_residual = std::max(fit.worst_residual, std::abs(y[i] / fit.at(x[i]) - 1));
  return fit;
}

Curve::Curve(std::vector<CurvePoint> points) : points_(std::move(points)) {
  std::ranges::sort(points_, {}, &CurvePoint::depth);
  for (size_t i = 1; i < points_.size(); ++i)
    ENSURE(points_[i].depth > points_[i - 1].depth, "depth {} twice", points_[i].depth);
  for (const CurvePoint& p : points_) medians_.push_back(median(p.seconds));
  fit_ = fit_line(points_);
}

double Curve::at(double depth) const { return at(depth, medians_); }

// Between points that have these values: straight; beyond the last one, by the fit's slope.
double Curve::at(double depth, std::span<const double> values) const {
  ENSURE(!points_.empty(), "an empty curve");
  if (points_.size() == 1) return values[0];
  if (depth > points_.back().depth)
    return values.back() + std::max(0.0, fit_->b.middle) * (depth - points_.back().depth);
  size_t above = 1;
  while (above + 1 < points_.size() && points_[above].depth < depth) ++above;
  const CurvePoint &low = points_[above - 1], &high = points_[above];
  const double slope = (values[above] - values[above - 1]) / (high.depth - low.depth);
  if (depth < low.depth) return std::max(values[0] * 0.5, values[0] + slope * (depth - low.depth));
  return values[above - 1] + slope * (depth - low.depth);
}

size_t Curve::rounds_at(double depth) const {
  ENSURE(!points_.empty(), "an empty curve");
  size_t above = 0;
  while (above + 1 < points_.size() && points_[above].depth < depth) ++above;
  if (above == 0 && points_.size() > 1) above = 1;
  const size_t rounds = points_[above].seconds.size();
  const bool alone = above == 0 || depth >= points_[above].depth;
  return alone ? rounds : std::min(rounds, points_[above - 1].seconds.size());
}

Interval Curve::interval_at(double depth, uint64_t seed) const {
  Rng rng(seed);
  std::vector<double> drawn, values(points_.size()), seen;
  for (int i = 0; i < kResamples; ++i) {
    for (size_t p = 0; p < points_.size(); ++p) {
      drawn.resize(points_[p].seconds.size());
      for (double& value : drawn) value = points_[p].seconds[rng.below(drawn.size())];
      values[p] = median(drawn);
    }
    seen.push_back(at(depth, values));
  }
  return {percentile(seen, 0.025), at(depth), percentile(seen, 0.975)};
}

// The curve is straight between its knots, so the trapezoid rule is exact there. A token at depth d covers
// [d − ½, d + ½).
double Curve::sum(double begin, double end) const {
  if (!(end > begin)) return 0;
  std::vector<double> knots = {begin - 0.5, end - 0.5};
  for (const CurvePoint& p : points_)
    if (p.depth > knots[0] && p.depth < end - 0.5) knots.push_back(p.depth);
  std::ranges::sort(knots);
  double total = 0;
  for (size_t i = 1; i < knots.size(); ++i)
    total += (knots[i] - knots[i - 1]) * (at(knots[i - 1]) + at(knots[i])) / 2;
  return total;
}

bool Curve::extrapolates(double end) const { return end > deepest() * 1.1 + 512; }

}  // namespace brass::report
