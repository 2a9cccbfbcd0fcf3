#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.h"
#include "report/compose.h"
#include "report/levers.h"

namespace brass::report {
namespace {

constexpr double kA = 10e-3, kB = 1e-6;  // seconds a token; more for each position

std::vector<CurvePoint> noisy_line(double noise, uint64_t seed) {
  Rng rng(seed);
  std::vector<CurvePoint> points;
  for (const double depth : {0.0, 512.0, 4096.0, 16384.0, 32768.0}) {
    CurvePoint p{depth, {}};
    for (int round = 0; round < 9; ++round)
      p.seconds.push_back((kA + kB * depth) * std::exp(noise * rng.normal()));
    points.push_back(std::move(p));
  }
  return points;
}

TEST(Fit, FindsALineAndItsIntervals) {
  int a_held = 0, b_held = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto fit = fit_line(noisy_line(0.03, seed));
    ASSERT_TRUE(fit);
    EXPECT_NEAR(fit->a.middle, kA, kA * 0.05);
    EXPECT_NEAR(fit->b.middle, kB, kB * 0.1);
    a_held += fit->a.low <= kA && kA <= fit->a.high;
    b_held += fit->b.low <= kB && kB <= fit->b.high;
    EXPECT_LT(fit->b.low, fit->b.high);
  }
  EXPECT_GE(a_held, 15);
  EXPECT_GE(b_held, 15);
}

TEST(Fit, AnExactLineHasNoResidual) {
  const auto fit = fit_line(noisy_line(0, 1));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->a.middle, kA, 1e-12);
  EXPECT_NEAR(fit->b.middle, kB, 1e-15);
  EXPECT_LT(fit->worst_residual, 1e-9);
}

TEST(Fit, OneDepthIsNoLine) {
  EXPECT_FALSE(fit_line(std::vector<CurvePoint>{{5, {1, 2, 3}}}));
  EXPECT_FALSE(Curve(std::vector<CurvePoint>{{5, {1, 2, 3}}}).fit());
}

TEST(Curve, SumsEveryTokensOwnDepth) {
  const Curve curve(noisy_line(0, 1));
  double expected = 0;
  for (int depth = 100; depth < 6000; ++depth) expected += kA + kB * depth;
  EXPECT_NEAR(curve.sum(100, 6000), expected, expected * 1e-9);
  EXPECT_NEAR(curve.sum(100, 101), kA + kB * 100, 1e-9);
  EXPECT_EQ(curve.sum(50, 50), 0);
}

TEST(Curve, FollowsABendThatALineWouldMiss) {  // a window: from 4096 on nothing grows any more
  std::vector<CurvePoint> points;
  for (const double depth : {0.0, 4096.0, 16384.0, 32768.0})
    points.push_back({depth, {kA + kB * std::min(depth, 4096.0)}});
  const Curve curve(points);
  EXPECT_NEAR(curve.sum(16384, 20000), (kA + kB * 4096) * (20000 - 16384), 1e-6);
  EXPECT_GT(curve.fit()->worst_residual, 0.02);
}

TEST(Curve, GoesOnBeyondItsEndByTheFitAndSaysSo) {
  const Curve curve(noisy_line(0, 1));
  EXPECT_NEAR(curve.at(65536), kA + kB * 65536, 1e-7);
  EXPECT_TRUE(curve.extrapolates(65536));
  EXPECT_FALSE(curve.extrapolates(32768 + 600));
  // A slope that noise made negative does not make far tokens free.
  const Curve falling({{0, {2e-3}}, {1000, {1e-3}}});
  EXPECT_NEAR(falling.at(100000), 1e-3, 1e-9);
  EXPECT_GT(Curve({{1000, {1e-3}}, {2000, {9e-3}}}).at(0), 0);
}

TEST(Curve, HasAnIntervalAtEveryDepth) {
  // One point is sure, the other has rounds of 3 and 5 ms.
  const Curve curve({{0, {1e-3, 1e-3, 1e-3}}, {1000, {3e-3, 5e-3, 3e-3, 5e-3, 4e-3}}});
  const Interval sure = curve.interval_at(0), deep = curve.interval_at(1000),
                 between = curve.interval_at(500);
  EXPECT_NEAR(sure.half_width(), 0, 1e-12);
  EXPECT_NEAR(deep.low, 3e-3, 1e-12);
  EXPECT_NEAR(deep.middle, 4e-3, 1e-12);
  EXPECT_NEAR(deep.high, 5e-3, 1e-12);
  EXPECT_NEAR(deep.half_width(), 0.25, 1e-9);
  EXPECT_NEAR(between.low, 2e-3, 1e-12);  // half of what the points say
  EXPECT_NEAR(between.high, 3e-3, 1e-12);
  EXPECT_NEAR(between.middle, curve.at(500), 1e-12);
  EXPECT_EQ(curve.rounds_at(0), 3u);
  EXPECT_EQ(curve.rounds_at(500), 3u);
  EXPECT_EQ(curve.rounds_at(1000), 5u);
  EXPECT_EQ(curve.rounds_at(9000), 5u);
  EXPECT_EQ(Curve({{10, {1.0, 2.0}}}).rounds_at(0), 2u);
}

TEST(Compose, AReplyOfNTokensIsNMinusOneSteps) {
  const Speed speed{Curve({{0, {1e-3}}, {10000, {1e-3}}}), Curve({{0, {20e-3}}, {10000, {20e-3}}}), 5e-3};
  const Phases p = compose(speed, 1000, 101);
  EXPECT_NEAR(p.prefill, 1.005, 1e-9);
  EXPECT_NEAR(p.decode, 2.0, 1e-9);
  EXPECT_NEAR(compose(speed, 1000, 101, 500).prefill, 0.505, 1e-9);
  EXPECT_NEAR(compose(speed, 1000, 1).decode, 0, 1e-12);
  // A last token alone costs a decode step, not a thousandth of a prompt.
  EXPECT_NEAR(compose(speed, 1000, 2, 999).prefill, 20e-3, 1e-9);
}

TEST(Compose, DecodeGrowsWithTheReply) {
  const Speed speed{Curve({{0, {1e-3}}, {40000, {1e-3}}}), Curve(noisy_line(0, 1)), 0};
  double expected = 0;
  for (int i = 0; i < 2047; ++i) expected += kA + kB * (2048 + i);
  EXPECT_NEAR(compose(speed, 2048, 2048).decode, expected, 1e-6);
}

TEST(Levers, FewerWeightBytesLeaveAttentionAlone) {
  const Curve decode(noisy_line(0, 1));
  const Curve half = with_weight_bytes(decode, 4e9, 2e9);
  EXPECT_NEAR(half.at(0), kA / 2, 1e-9);
  EXPECT_NEAR(half.at(32768), kA / 2 + kB * 32768, 1e-7);
  const Curve int8 = with_kv_bytes(decode, 0.5);
  EXPECT_NEAR(int8.at(0), kA, 1e-9);
  EXPECT_NEAR(int8.at(32768), kA + kB * 32768 / 2, 1e-7);
  EXPECT_NEAR(scaled(decode, 3).at(16384), 3 * (kA + kB * 16384), 1e-9);
}

TEST(Levers, ABatchReadsWeightsOnce) {
  EXPECT_NEAR(batch_step_seconds(30e-3, 0, 1e-3, 4), 30e-3, 1e-12) << "arithmetic hides behind memory";
  EXPECT_NEAR(batch_step_seconds(30e-3, 0, 10e-3, 4), 40e-3, 1e-12) << "until it does not";
  EXPECT_NEAR(batch_step_seconds(30e-3, 10e-3, 1e-3, 4), 20e-3 + 40e-3, 1e-12);
}

TEST(Levers, SlowdownIsThatOfTheTighterBound) {
  const DeviceRates two{.bandwidth = 20e9, .int8_ops = 2e12}, one{.bandwidth = 18e9, .int8_ops = 1e12};
  EXPECT_NEAR(*slowdown(1e9, 1e9, two, one), 20.0 / 18, 1e-12);
  EXPECT_NEAR(*slowdown(1e6, 1e12, two, one), 2, 1e-12);
  EXPECT_FALSE(slowdown(1, 1, {}, one));
}

TEST(Levers, AnErrorAboveTenPercentIsKnown) {
  Lever lever;
  lever.name = "x";
  EXPECT_FALSE(off_by(lever));
  lever.predicted = LeverOutcome{.decode_tps = 10, .prefill_tps = 100, .seconds = 6};
  lever.measured = LeverOutcome{.decode_tps = 10, .prefill_tps = 100, .seconds = 5};
  EXPECT_NEAR(off_by(lever)->seconds, 0.2, 1e-12);
  EXPECT_NEAR(off_by(lever)->worst(), 0.2, 1e-12);
  // A rate that is further off than the time counts as well; one that was not measured does not.
  lever.measured = LeverOutcome{.decode_tps = 20, .prefill_tps = 0, .seconds = 6};
  EXPECT_NEAR(off_by(lever)->seconds, 0, 1e-12);
  EXPECT_NEAR(off_by(lever)->decode_tps, -0.5, 1e-12);
  EXPECT_EQ(off_by(lever)->prefill_tps, 0);
  EXPECT_NEAR(off_by(lever)->worst(), 0.5, 1e-12);
  // The text that is hashed holds the figures, so another prediction has another hash.
  const std::string before = prediction_text(lever);
  lever.predicted->seconds = 6.01;
  EXPECT_NE(before, prediction_text(lever));
}

}  // namespace
}  // namespace brass::report
