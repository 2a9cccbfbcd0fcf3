#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/rng.h"
#include "report/format.h"
#include "report/rates.h"
#include "report/statistics.h"

namespace brass::report {
namespace {

TEST(Statistics, PercentilesInterpolate) {
  const std::vector<double> values = {15, 20, 35, 40, 50};  // any order must do
  const std::vector<double> shuffled = {40, 15, 50, 20, 35};
  EXPECT_DOUBLE_EQ(percentile(values, 0.4), 29);  // numpy.percentile(values, 40)
  EXPECT_DOUBLE_EQ(percentile(shuffled, 0.4), 29);
  EXPECT_DOUBLE_EQ(percentile(values, 0), 15);
  EXPECT_DOUBLE_EQ(percentile(values, 1), 50);
  EXPECT_DOUBLE_EQ(percentile(values, 0.95), 48);
  EXPECT_DOUBLE_EQ(median(shuffled), 35);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{1, 4, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
}

TEST(Statistics, RoundsFarOffAreCounted) {
  EXPECT_EQ(far_off(std::vector<double>{10, 10.1, 9.9, 10.05, 14}), 1u);
  EXPECT_EQ(far_off(std::vector<double>{10, 10.1, 9.9, 10.05, 10.15}), 0u);
  EXPECT_EQ(far_off(std::vector<double>{10, 10, 10, 10, 10.1}), 0u) << "within 2 %";
  EXPECT_EQ(far_off(std::vector<double>{}), 0u);
}

TEST(Statistics, EqualValuesHaveAnIntervalOfNoWidth) {
  const std::vector<double> a(9, 6.0), b(5, 4.0);
  const Interval i = ratio_interval(a, b);
  EXPECT_DOUBLE_EQ(i.low, 1.5);
  EXPECT_DOUBLE_EQ(i.middle, 1.5);
  EXPECT_DOUBLE_EQ(i.high, 1.5);
}

// Of many experiments with a known ratio, about 95 % of the intervals must hold it.
TEST(Statistics, IntervalsCoverTheTruthAsOftenAsTheySay) {
  Rng rng(3);
  int covered = 0, covered_paired = 0;
  constexpr int kExperiments = 50;
  double width = 0, width_paired = 0;
  for (int e = 0; e < kExperiments; ++e) {
    std::vector<double> a(25), b(25);
    for (size_t i = 0; i < a.size(); ++i) {
      const double machine = std::exp(0.1 * rng.normal());  // what both sides of a round share
      a[i] = 1.2 * machine * std::exp(0.02 * rng.normal());
      b[i] = machine * std::exp(0.02 * rng.normal());
    }
    const Interval apart = ratio_interval(a, b, static_cast<uint64_t>(e));
    const Interval paired = paired_ratio_interval(a, b, static_cast<uint64_t>(e));
    covered += apart.low <= 1.2 && 1.2 <= apart.high;
    covered_paired += paired.low <= 1.2 && 1.2 <= paired.high;
    width += apart.high - apart.low;
    width_paired += paired.high - paired.low;
  }
  EXPECT_GE(covered, kExperiments * 88 / 100);
  EXPECT_GE(covered_paired, kExperiments * 88 / 100);
  EXPECT_LE(covered_paired, kExperiments * 995 / 1000);
  EXPECT_LT(width_paired, width / 2) << "rounds share the machine's state";
}

TEST(Statistics, IntervalsRepeat) {
  const std::vector<double> a = {5, 7, 6, 8, 5.5}, b = {4, 4.4, 4.2, 5, 4.1};
  EXPECT_EQ(ratio_interval(a, b, 5).low, ratio_interval(a, b, 5).low);
  EXPECT_LT(ratio_interval(a, b).low, ratio_interval(a, b).middle);
  EXPECT_GT(ratio_interval(a, b).high, ratio_interval(a, b).middle);
}

TEST(Rates, TheFirstTokenStartsTheDecodeClock) {
  EXPECT_DOUBLE_EQ(decode_tps(101, 2.0).value(), 50);
  EXPECT_DOUBLE_EQ(decode_tps(2, 0.25).value(), 4);
  EXPECT_FALSE(decode_tps(1, 2.0));
  EXPECT_FALSE(decode_tps(0, 0.5));
  EXPECT_FALSE(decode_tps(5, 0.0));
}

TEST(Rates, CachedTokensAreNotPrefilled) {
  EXPECT_DOUBLE_EQ(prefill_tps(2048, 0, 2.0).value(), 1024);
  EXPECT_DOUBLE_EQ(prefill_tps(2048, 2000, 0.5).value(), 96);
  EXPECT_FALSE(prefill_tps(2048, 2048, 0.5));
  EXPECT_FALSE(prefill_tps(10, 0, 0.0));
}

TEST(Format, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1000), "1.00 kB");
  EXPECT_EQ(format_bytes(92300000), "92.3 MB");
  EXPECT_EQ(format_bytes(999499), "999 kB");
  EXPECT_EQ(format_bytes(999500), "1.00 MB");
  EXPECT_EQ(format_bytes(1117320736), "1.12 GB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "18.4 EB");
}

TEST(Format, Rates) {
  EXPECT_EQ(format_bandwidth(512.4e6), "512 MB/s");
  EXPECT_EQ(format_tps(98.14), "98.1 tok/s");
  EXPECT_EQ(format_tps(9.994), "9.99 tok/s");
  EXPECT_EQ(format_tps(9.996), "10.0 tok/s");
  EXPECT_EQ(format_tps(1234.4), "1234 tok/s");
  EXPECT_EQ(format_tps(decode_tps(1, 0.5)), "no rate");
}

TEST(Format, Seconds) {
  EXPECT_EQ(format_seconds(0), "0 ns");
  EXPECT_EQ(format_seconds(850e-9), "850 ns");
  EXPECT_EQ(format_seconds(16.42e-6), "16.4 us");
  EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
  EXPECT_EQ(format_seconds(0.9996), "1.00 s");
  EXPECT_EQ(format_seconds(4.556), "4.56 s");
  EXPECT_EQ(format_seconds(59.96), "1 min 00 s");
  EXPECT_EQ(format_seconds(125), "2 min 05 s");
  EXPECT_EQ(format_seconds(3725), "1 h 02 min");
}

TEST(Format, Counts) {
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(151936), "152 k");
  EXPECT_EQ(format_count(1543714304), "1.54 G");
}

}  // namespace
}  // namespace brass::report
