// The distribution that is drawn from, against tools/oracles/sampler_oracle.py, and the draws against it.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "source_dir.h"
#include "text/sampler.h"

namespace brass {
namespace {

using nlohmann::json;

// The formula of the oracle.
std::vector<float> make_logits(uint64_t seed, size_t vocab, double scale) {
  std::vector<float> logits;
  for (uint64_t i = 0; i < vocab; ++i) {
    const uint64_t h = (i + 1) * 6364136223846793005u + seed * 1442695040888963407u;
    const uint64_t k = ((h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u) >> 52;
    logits.push_back(static_cast<float>((static_cast<double>(k * k) / 0x1p20 - 8.0) * scale));
  }
  return logits;
}

SamplingParams neutral() {
  SamplingParams params;
  params.temperature = 1.0f;
  params.top_k = 0;
  params.top_p = 1.0f;
  params.min_p = 0.0f;
  params.seed = 1;
  return params;
}

SamplingParams params_of(const json& given) {
  SamplingParams p = neutral();
  p.temperature = given.value("temperature", p.temperature);
  p.top_k = given.value("top_k", p.top_k);
  p.top_p = given.value("top_p", p.top_p);
  p.min_p = given.value("min_p", p.min_p);
  p.typical_p = given.value("typical_p", p.typical_p);
  p.repeat_last_n = given.value("repeat_last_n", p.repeat_last_n);
  p.repeat_penalty = given.value("repeat_penalty", p.repeat_penalty);
  p.frequency_penalty = given.value("frequency_penalty", p.frequency_penalty);
  p.presence_penalty = given.value("presence_penalty", p.presence_penalty);
  p.dry.multiplier = given.value("dry_multiplier", p.dry.multiplier);
  p.dry.base = given.value("dry_base", p.dry.base);
  p.dry.allowed_length = given.value("dry_allowed_length", p.dry.allowed_length);
  p.dry.penalty_last_n = given.value("dry_last_n", p.dry.penalty_last_n);
  p.dry.sequence_breakers = given.value("dry_breakers", p.dry.sequence_breakers);
  p.xtc.probability = given.value("xtc_probability", p.xtc.probability);
  p.xtc.threshold = given.value("xtc_threshold", p.xtc.threshold);
  if (given.contains("logit_bias")) {
    for (const json& entry : given["logit_bias"])
      p.logit_bias.emplace_back(entry[0].get<int32_t>(), entry[1].is_null()
                                                             ? -std::numeric_limits<float>::infinity()
                                                             : entry[1].get<float>());
  }
  return p;
}

size_t count_likely(const std::vector<TokenProbability>& all) {
  return static_cast<size_t>(
      std::ranges::count_if(all, [](const auto& t) { return t.probability > 1e-12f; }));
}

TEST(SamplerDistribution, EqualsTheOracleForManyParameterSets) {
  std::ifstream file(source_dir() + "/tests/text/sampler_fixtures.json");
  const json cases = json::parse(file);
  ASSERT_GE(cases.size(), 200u);
  for (const json& c : cases) {
    SCOPED_TRACE(c["params"].dump() + " vocab " + c["vocab"].dump() + " seed " + c["seed"].dump());
    const auto vocab = c["vocab"].get<int>();
    const SamplingParams params = params_of(c["params"]);
    ASSERT_TRUE(validate(params, vocab)) << validate(params, vocab).error().message;
    Sampler sampler(params, vocab);
    for (const json& token : c["text"]) sampler.accept(token.get<int32_t>());
    const auto logits =
        make_logits(c["seed"].get<uint64_t>(), static_cast<size_t>(vocab), c["scale"].get<double>());
    const auto got = sampler.distribution(logits);
    ASSERT_TRUE(got);
    ASSERT_EQ(count_likely(*got), c["kept"].get<size_t>());
    std::map<int32_t, float> by_id;
    for (const auto& [id, probability] : *got) by_id[id] = probability;
    for (const json& e : c["expect"]) {
      const auto id = e[0].get<int32_t>();
      ASSERT_TRUE(by_id.contains(id)) << "token " << id << " is missing";
      const auto want = e[1].get<double>();
      ASSERT_NEAR(by_id[id], want, 3e-6 * want + 1e-12) << "token " << id;
    }
    // The first of the oracle is the first here: likeliest first, lower id first.
    ASSERT_EQ(got->front().id, c["expect"][0][0].get<int32_t>());
  }
}

// Chi-square of draws against the distribution, at a fixed seed; the bound is about six deviations.
void expect_draws_follow(const SamplingParams& params, const std::vector<float>& logits) {
  Sampler sampler(params, static_cast<int>(logits.size()));
  const auto expected = sampler.distribution(logits);
  ASSERT_TRUE(expected);
  constexpr int kDraws = 40000;
  std::map<int32_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.sample(logits).value()];
  double chi2 = 0, rest_expected = 0, rest_count = kDraws;
  int freedom = 0;
  for (const auto& [id, probability] : *expected) {
    const double want = static_cast<double>(probability) * kDraws;
    if (want < 10) {
      rest_expected += want;
      continue;
    }
    chi2 += (counts[id] - want) * (counts[id] - want) / want;
    rest_count -= counts[id];
    ++freedom;
  }
  if (rest_expected > 0)
    chi2 += (rest_count - rest_expected) * (rest_count - rest_expected) / std::max(rest_expected, 1.0);
  EXPECT_LT(chi2, freedom + 6 * std::sqrt(2.0 * freedom) + 6);
  for (const auto& [id, count] : counts) {
    if (count == 0) continue;
    const bool possible = std::ranges::any_of(*expected, [&](const auto& t) { return t.id == id; });
    EXPECT_TRUE(possible) << "token " << id << " was drawn but is not in the distribution";
  }
}

TEST(SamplerDistribution, DrawsFollowIt) {
  const auto logits = make_logits(7, 300, 0.5);
  SamplingParams params = neutral();
  expect_draws_follow(params, logits);
  params.temperature = 2.0f;
  expect_draws_follow(params, logits);
  params.top_k = 12;
  expect_draws_follow(params, logits);
  params.top_k = 0;
  params.top_p = 0.7f;
  expect_draws_follow(params, logits);
  params.top_p = 1.0f;
  params.typical_p = 0.6f;
  expect_draws_follow(params, logits);
  params.typical_p = 1.0f;
  params.min_p = 0.2f;
  expect_draws_follow(params, logits);
}

TEST(SamplerDistribution, XtcRemovesTheTopChoicesAsOftenAsAsked) {
  const std::vector<float> logits = {3.0f, 2.9f, 2.8f, 0.0f, -1.0f};
  SamplingParams params = neutral();
  params.xtc = {.probability = 0.25f, .threshold = 0.1f};
  Sampler sampler(params, 5);
  int top = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) top += sampler.sample(logits).value() <= 1;
  // Tokens 0 and 1 hold `share` of the probability unless the coin removes them.
  double total = 0, share = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    total += std::exp(logits[i]);
    if (i <= 1) share += std::exp(logits[i]);
  }
  const double want = 0.75 * share / total;
  EXPECT_NEAR(top / static_cast<double>(kDraws), want, 5 * std::sqrt(want * (1 - want) / kDraws));
}

TEST(SamplerDistribution, TellsWhatTheNextSampleDrawsFrom) {
  const auto logits = make_logits(3, 50, 0.25);
  SamplingParams params = neutral();
  params.xtc = {.probability = 0.5f, .threshold = 0.02f};
  Sampler asked(params, 50), plain(params, 50);
  size_t sizes[2] = {};
  for (int i = 0; i < 200; ++i) {
    const auto expected = asked.distribution(logits);
    ++sizes[expected->size() == 50];
    const int32_t token = asked.sample(logits).value();
    EXPECT_TRUE(std::ranges::any_of(*expected, [&](const auto& t) { return t.id == token; }));
    EXPECT_EQ(token, plain.sample(logits).value()) << "distribution() used up randomness";
  }
  EXPECT_GT(sizes[0], 50u);
  EXPECT_GT(sizes[1], 50u);
}

}  // namespace
}  // namespace brass
