// Encoders: the error they leave, that they keep what is already exact, weights, hard inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "base/rng.h"
#include "quant_files.h"

namespace brass {
namespace {

std::vector<float> round_trip(const Format& format, const std::vector<float>& values,
                              const float* importance = nullptr) {
  // Memory that is not zero at first, so that a bit which an encoder forgets to write shows.
  std::vector<std::byte> blocks(row_bytes(format, values.size()), std::byte{0xa5});
  format.encode(values.data(), blocks.data(), values.size(), importance);
  EXPECT_EQ(format.find_non_finite(blocks.data(), values.size()), -1) << format.name;
  std::vector<float> out(values.size());
  format.decode(blocks.data(), out.data(), out.size());
  return out;
}

double relative_rms_error(const std::vector<float>& wanted, const std::vector<float>& got) {
  double error = 0, energy = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const double off = static_cast<double>(wanted[i]) - got[i];
    error += off * off;
    energy += static_cast<double>(wanted[i]) * wanted[i];
  }
  return std::sqrt(error / energy);
}

std::vector<float> normal_values(size_t n, uint64_t seed, double deviation, double outliers = 0) {
  Rng rng(seed);
  std::vector<float> out(n);
  for (float& v : out) {
    const double times = rng.uniform() < outliers ? 12 : 1;
    v = static_cast<float>(rng.normal() * deviation * times);
  }
  return out;
}

class Encoder : public testing::TestWithParam<const Format*> {};

TEST_P(Encoder, ErrorIsNoLargerThanLlamaCpps) {
  const Format& format = *GetParam();
  if (format.group == 0) GTEST_SKIP() << format.name << " is not quantized";
  const auto data = reference_data(format);
  if (!data) GTEST_SKIP() << "no reference blocks of " << format.name;
  const double theirs = relative_rms_error(data->source, data->values);
  const double ours = relative_rms_error(data->source, round_trip(format, data->source));
  EXPECT_LE(ours, theirs * 1.0001) << format.name;
}

// Bars on other values than the reference data: normal ones, without outliers. They stand 2 % above what the
// encoders reached when they were written.
double bar_for_normal_values(Type type) {
  static const std::map<Type, double> bars = {
      {Type::F32, 0},         {Type::F16, 0.000211},  {Type::Q4_0, 0.0826},  {Type::Q4_1, 0.0708},
      {Type::Q5_0, 0.0411},   {Type::Q5_1, 0.0342},   {Type::Q8_0, 0.00477}, {Type::Q2_K, 0.268},
      {Type::Q3_K, 0.147},    {Type::Q4_K, 0.0711},   {Type::Q5_K, 0.035},   {Type::Q6_K, 0.0168},
      {Type::IQ4_NL, 0.0748}, {Type::IQ4_XS, 0.0755}, {Type::BF16, 0.00172}, {Type::TQ1_0, 0.444},
      {Type::TQ2_0, 0.444},   {Type::MXFP4, 0.113},   {Type::NVFP4, 0.0911}, {Type::Q1_0, 0.613},
      {Type::Q2_0, 0.36},
  };
  const auto at = bars.find(type);
  return at == bars.end() ? -1 : at->second;
}

TEST_P(Encoder, ErrorOnNormalValues) {
  const Format& format = *GetParam();
  const auto source = normal_values(64 * 256, 11, 0.02);
  EXPECT_LE(relative_rms_error(source, round_trip(format, source)), bar_for_normal_values(format.type))
      << format.name;
}

TEST_P(Encoder, KeepsWhatItDecodedTo) {
  const Format& format = *GetParam();
  const auto source = normal_values(64 * 256, 12, 0.02, 0.01);
  const auto once = round_trip(format, source);
  const auto twice = round_trip(format, once);
  // The nested searches may end in a neighbouring optimum; the others find their values again, but for the
  // sign of 0.
  const std::set<Type> nested = {Type::Q2_K, Type::Q3_K, Type::Q4_K, Type::Q5_K, Type::Q6_K, Type::IQ4_XS};
  if (nested.contains(format.type)) {
    EXPECT_LE(relative_rms_error(once, twice), 0.3 * relative_rms_error(source, once)) << format.name;
  } else {
    EXPECT_EQ(once, twice) << format.name;
  }
}

TEST_P(Encoder, ZerosStayZeros) {
  const Format& format = *GetParam();
  for (const float v : round_trip(format, std::vector<float>(512, 0.0f))) ASSERT_EQ(v, 0.0f) << format.name;
}

TEST_P(Encoder, BlocksDoNotDependOnTheirNeighbours) {
  const Format& format = *GetParam();
  const auto source = normal_values(2 * 256, 13, 1.0);
  const auto together = round_trip(format, source);
  const auto alone = round_trip(format, {source.begin() + 256, source.end()});
  EXPECT_EQ(std::memcmp(together.data() + 256, alone.data(), 256 * sizeof(float)), 0) << format.name;
}

// One value in eight matters a hundred times as much as the others: its error must fall.
TEST_P(Encoder, ImportanceMovesErrorAway) {
  const Format& format = *GetParam();
  if (format.group == 0 || format.type == Type::Q1_0)
    GTEST_SKIP() << format.name << " has too little to choose";
  const auto source = normal_values(64 * 256, 14, 0.02);
  std::vector<float> importance(source.size(), 1.0f);
  for (size_t i = 0; i < importance.size(); i += 8) importance[i] = 100.0f;
  const auto plain = round_trip(format, source), weighted = round_trip(format, source, importance.data());
  double plain_error = 0, weighted_error = 0;
  for (size_t i = 0; i < source.size(); i += 8) {
    plain_error += std::pow(source[i] - plain[i], 2);
    weighted_error += std::pow(source[i] - weighted[i], 2);
  }
  EXPECT_LT(weighted_error, 0.95 * plain_error) << format.name;
}

TEST_P(Encoder, ImportanceOfZeroMeansAllEqual) {
  const Format& format = *GetParam();
  const auto source = normal_values(512, 15, 0.02);
  const std::vector<float> none(source.size(), 0.0f);
  const auto plain = round_trip(format, source), weighted = round_trip(format, source, none.data());
  EXPECT_EQ(std::memcmp(plain.data(), weighted.data(), plain.size() * sizeof(float)), 0) << format.name;
}

// Tiny, huge, constant, one-sided: the result is finite and not worse than zeros would be.
TEST_P(Encoder, HardInputs) {
  const Format& format = *GetParam();
  std::vector<std::vector<float>> inputs;
  for (const double deviation : {1e-44, 1e-30, 1e-8, 1e-5, 1e3})
    inputs.push_back(normal_values(512, 16, deviation));
  inputs.emplace_back(512, 0.37f);
  inputs.emplace_back(512, -0.37f);
  inputs.push_back(normal_values(512, 17, 1e-3));
  for (float& v : inputs.back()) v += 1.0f;
  inputs.push_back(normal_values(512, 18, 1e-6));
  inputs.back()[100] = 30000.0f;
  inputs.back()[400] = -30000.0f;
  for (const auto& source : inputs) {
    const auto out = round_trip(format, source);
    double error = 0, energy = 0;
    for (size_t i = 0; i < source.size(); ++i) {
      ASSERT_TRUE(std::isfinite(out[i])) << format.name << " " << source[i];
      error += std::pow(static_cast<double>(source[i]) - out[i], 2);
      energy += std::pow(static_cast<double>(source[i]), 2);
    }
    EXPECT_LE(error, energy * 1.01) << format.name << " " << source[0];
  }
}

// Beyond what the format holds: saturated, still finite. (F16 and F32 hold what they are given: infinity.)
TEST_P(Encoder, BeyondTheFormatSaturates) {
  const Format& format = *GetParam();
  if (format.group == 0) GTEST_SKIP();
  for (const double deviation : {1e6, 1e12, 1e30, 1e37}) {
    for (const float v : round_trip(format, normal_values(512, 19, deviation))) {
      ASSERT_TRUE(std::isfinite(v)) << format.name << " " << deviation;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Encoder, testing::ValuesIn(encoding_formats()), name_of_format);

}  // namespace
}  // namespace brass
