#include "report/levers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace brass::report {
namespace {

// Every value of the curve through `change(depth, seconds)`.
template <class F>
Curve mapped(const Curve& curve, F change) {
  std::vector<CurvePoint> points(curve.points().begin(), curve.points().end());
  for (CurvePoint& p : points)
    for (double& s : p.seconds) s = change(p.depth, s);
  return Curve(std::move(points));
}

// What of a token's seconds at this depth grows with depth, by the curve's fit.
double grown(const Curve& curve, double depth) {
  return curve.fit() ? std::max(0.0, curve.fit()->b.middle) * depth : 0;
}

}  // namespace

Curve with_weight_bytes(const Curve& decode, double before, double after) {
  ENSURE(before > 0 && after > 0, "{} and {} bytes", before, after);
  return mapped(decode, [&](double depth, double s) {
    const double attention = std::min(grown(decode, depth), s);
    return (s - attention) * after / before + attention;
  });
}

Curve with_kv_bytes(const Curve& decode, double ratio) {
  return mapped(decode, [&](double depth, double s) {
    const double attention = std::min(grown(decode, depth), s);
    return s - attention + attention * ratio;
  });
}

Curve scaled(const Curve& curve, double factor) {
  return mapped(curve, [&](double, double s) { return s * factor; });
}

double batch_step_seconds(double one, double attention, double arithmetic, uint32_t sequences) {
  const double memory = one - attention;  // the weights, once
  return std::max(memory, arithmetic * sequences) + attention * sequences;
}

std::optional<double> slowdown(double bytes, double ops, const DeviceRates& before,
                               const DeviceRates& after) {
  const auto a = least_seconds(bytes, ops, before), b = least_seconds(bytes, ops, after);
  if (!a || !b || !(*a > 0)) return std::nullopt;
  return *b / *a;
}

double Miss::worst() const {
  return std::max({std::abs(seconds), std::abs(prefill_tps), std::abs(decode_tps)});
}

std::optional<Miss> off_by(const Lever& lever) {
  if (!lever.predicted || !lever.measured || !(lever.measured->seconds > 0)) return std::nullopt;
  const auto off = [](double predicted, double measured) {
    return predicted > 0 && measured > 0 ? predicted / measured - 1 : 0;
  };
  return Miss{off(lever.predicted->seconds, lever.measured->seconds),
              off(lever.predicted->prefill_tps, lever.measured->prefill_tps),
              off(lever.predicted->decode_tps, lever.measured->decode_tps)};
}

std::string prediction_text(const Lever& lever) {
  ENSURE(lever.predicted, "no prediction for {}", lever.name);
  return fmt::format("{} | {} | prefill {:.6g} tok/s | decode {:.6g} tok/s | {:.6g} s | {} B", lever.name,
                     lever.change, lever.predicted->prefill_tps, lever.predicted->decode_tps,
                     lever.predicted->seconds, lever.bytes_saved);
}

}  // namespace brass::report
