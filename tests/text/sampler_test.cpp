// What the sampler promises beside the distribution: validation, order, ties, errors, repeatability.
#include "text/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "text/sampler_scan.h"

namespace brass {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

SamplingParams greedy() {
  SamplingParams params;
  params.greedy = true;
  return params;
}

// Everything that narrows or heats is off.
SamplingParams neutral(uint64_t seed = 1) {
  SamplingParams params;
  params.temperature = 1.0f;
  params.top_k = 0;
  params.top_p = 1.0f;
  params.min_p = 0.0f;
  params.seed = seed;
  return params;
}

int32_t greedy_choice(SamplingParams params, std::vector<float> logits, std::vector<int32_t> text = {}) {
  params.greedy = true;
  Sampler sampler(params, static_cast<int>(logits.size()));
  for (const int32_t token : text) sampler.accept(token);
  return sampler.sample(logits).value();
}

TEST(SamplingParams, DefaultsAreValid) { EXPECT_TRUE(validate(SamplingParams{}, 10)); }

TEST(SamplingParams, EveryFieldIsCheckedAndNamed) {
  const std::vector<std::pair<std::string, std::function<void(SamplingParams&)>>> wrong = {
      {"temperature", [](auto& p) { p.temperature = kNan; }},
      {"temperature", [](auto& p) { p.temperature = -0.1f; }},
      {"temperature", [](auto& p) { p.temperature = kInfinity; }},
      {"top_k", [](auto& p) { p.top_k = -1; }},
      {"top_p", [](auto& p) { p.top_p = 1.01f; }},
      {"top_p", [](auto& p) { p.top_p = kNan; }},
      {"min_p", [](auto& p) { p.min_p = -0.01f; }},
      {"min_p", [](auto& p) { p.min_p = kNan; }},
      {"typical_p", [](auto& p) { p.typical_p = 2; }},
      {"repeat_last_n", [](auto& p) { p.repeat_last_n = -2; }},
      {"repeat_last_n", [](auto& p) { p.repeat_last_n = SamplingParams::kMaxWindow + 1; }},
      {"repeat_penalty", [](auto& p) { p.repeat_penalty = 0; }},
      {"repeat_penalty", [](auto& p) { p.repeat_penalty = kInfinity; }},
      {"frequency_penalty", [](auto& p) { p.frequency_penalty = -101; }},
      {"presence_penalty", [](auto& p) { p.presence_penalty = kNan; }},
      {"dry.multiplier", [](auto& p) { p.dry.multiplier = -1; }},
      {"dry.base", [](auto& p) { p.dry.base = 0.5f; }},
      {"dry.allowed_length", [](auto& p) { p.dry.allowed_length = 0; }},
      {"dry.penalty_last_n", [](auto& p) { p.dry.penalty_last_n = DryParams::kMaxWindow + 1; }},
      {"dry.sequence_breakers",
       [](auto& p) { p.dry.sequence_breakers.resize(DryParams::kMaxBreakers + 1, {1}); }},
      {"dry.sequence_breakers[1]", [](auto& p) { p.dry.sequence_breakers = {{1}, {}}; }},
      {"dry.sequence_breakers[0]", [](auto& p) { p.dry.sequence_breakers = {{1, 100}}; }},
      {"dry.sequence_breakers[0]", [](auto& p) { p.dry.sequence_breakers = {std::vector<int32_t>(33, 1)}; }},
      {"xtc.probability", [](auto& p) { p.xtc.probability = 1.5f; }},
      {"xtc.threshold", [](auto& p) { p.xtc = {.probability = 0.5f, .threshold = 0.6f}; }},
      {"xtc.threshold", [](auto& p) { p.xtc.threshold = kNan; }},
      {"logit_bias", [](auto& p) { p.logit_bias = {{100, 1.0f}}; }},
      {"logit_bias", [](auto& p) { p.logit_bias = {{-1, 1.0f}}; }},
      {"logit_bias of token id 3", [](auto& p) { p.logit_bias = {{3, kNan}}; }},
      {"logit_bias of token id 3", [](auto& p) { p.logit_bias = {{3, kInfinity}}; }},
  };
  for (const auto& [field, spoil] : wrong) {
    SamplingParams params;
    spoil(params);
    const auto valid = validate(params, 100);
    ASSERT_FALSE(valid) << field;
    EXPECT_EQ(valid.error().message.rfind(field, 0), 0u) << valid.error().message;
    EXPECT_TRUE(valid.error().wrong_use);
  }
  EXPECT_FALSE(validate(SamplingParams{}, 0));
}

TEST(Sampler, GreedyTakesTheLowestIdOfEqualLogits) {
  for (const size_t vocab : {1u, 5u, 63u, 64u, 65u, 200u, 1000u}) {
    std::vector<float> logits(vocab, -3.0f);
    EXPECT_EQ(greedy_choice(greedy(), logits), 0);
    for (size_t i = 0; i < vocab; i += 7) {
      std::ranges::fill(logits, -3.0f);
      logits[i] = logits[vocab - 1] = -0.5f;
      EXPECT_EQ(greedy_choice(greedy(), logits), static_cast<int32_t>(i)) << vocab;
    }
  }
}

TEST(Sampler, TemperatureZeroIsGreedy) {
  SamplingParams params;
  params.temperature = 0;
  Sampler sampler(params, 4);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(sampler.sample(std::vector<float>{0, 2, 2, 1}).value(), 1);
}

TEST(Sampler, TheSmallestTemperatureStillDraws) {
  SamplingParams params = neutral();
  params.temperature = std::numeric_limits<float>::denorm_min();
  Sampler sampler(params, 4);
  EXPECT_EQ(sampler.sample(std::vector<float>{0, 2, 1.99f, 1}).value(), 1);
  params.temperature = std::numeric_limits<float>::max();
  params.top_k = 3;
  Sampler hot(params, 4);
  const auto flat = hot.distribution(std::vector<float>{0, 2, 1, 3});
  ASSERT_EQ(flat->size(), 3u);
  for (const auto& [id, probability] : *flat) EXPECT_NEAR(probability, 1.0 / 3, 1e-6);
}

TEST(Sampler, NonFiniteLogitsAreAnErrorThatNamesTheToken) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const size_t at : {0u, 63u, 64u, 129u}) {
      std::vector<float> logits(130, 1.0f);
      logits[at] = bad;
      for (SamplingParams params : {greedy(), neutral(), SamplingParams{}}) {
        for (const float penalty : {1.0f, 1.5f}) {
          params.repeat_penalty = penalty;
          Sampler sampler(params, 130);
          sampler.accept(static_cast<int32_t>(at));
          const auto result = sampler.sample(logits);
          ASSERT_FALSE(result);
          EXPECT_NE(result.error().message.find("non-finite logits"), std::string::npos);
          EXPECT_NE(result.error().message.find(fmt::format("token id {} ", at)), std::string::npos);
        }
      }
    }
  }
}

TEST(Sampler, HugeLogitsAreFine) {
  const float huge = std::numeric_limits<float>::max();
  SamplingParams params = neutral();
  params.typical_p = 0.9f;
  params.top_p = 0.9f;
  params.repeat_penalty = 0.01f;
  Sampler sampler(params, 3);
  sampler.accept(1);
  sampler.accept(2);
  const auto result = sampler.distribution(std::vector<float>{-huge, huge, -huge});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->front().id, 1);
}

TEST(Sampler, ForbiddenTokensAreNeverDrawn) {
  SamplingParams params = neutral();
  for (int32_t id = 0; id < 70; ++id) {
    if (id != 66) params.logit_bias.emplace_back(id, -kInfinity);
  }
  params.logit_bias.emplace_back(3, 5.0f);  // adds nothing to minus infinity
  for (const int top_k : {0, 1, 40, 70}) {
    for (const float typical : {1.0f, 0.5f}) {
      params.top_k = top_k;
      params.typical_p = typical;
      Sampler sampler(params, 70);
      EXPECT_EQ(sampler.sample(std::vector<float>(70, 0.0f)).value(), 66);
    }
  }
  params.logit_bias.emplace_back(66, -kInfinity);
  Sampler none(params, 70);
  EXPECT_FALSE(none.sample(std::vector<float>(70, 0.0f)));
}

TEST(Sampler, BiasesOfOneTokenAddUp) {
  SamplingParams params;
  params.logit_bias = {{2, 0.6f}, {0, 1.0f}, {2, 0.6f}};
  EXPECT_EQ(greedy_choice(params, {0, 0, 0}), 2);
}

TEST(Sampler, PenaltiesSeePromptTokensAndForgetOldOnes) {
  SamplingParams params;
  params.repeat_penalty = 2.0f;
  params.repeat_last_n = 3;
  EXPECT_EQ(greedy_choice(params, {4, 3, 1}, {0}), 1);           // 4 / 2 < 3
  EXPECT_EQ(greedy_choice(params, {4, 3, 1}, {0, 2, 2, 2}), 0);  // out of the window
  EXPECT_EQ(greedy_choice(params, {4, 3, 1}, {0, 0, 2, 2, 0, 2, 2, 2}), 0);
  EXPECT_EQ(greedy_choice(params, {4, 3, 1}, {0, 0, 2, 2}), 1);  // one of the two is still in it
  EXPECT_EQ(greedy_choice(params, {-1, -1.5f, -9}, {0}), 1);     // negative logits are multiplied
  params.repeat_last_n = -1;
  EXPECT_EQ(greedy_choice(params, {4, 3, 1}, {0, 2, 2, 2, 2, 2, 2, 2}), 1);
  params.repeat_last_n = 0;
  EXPECT_EQ(greedy_choice(params, {4, 3, 1}, {0}), 0);
}

TEST(Sampler, FrequencyCountsAndPresenceDoesNot) {
  SamplingParams params;
  params.frequency_penalty = 1.0f;
  EXPECT_EQ(greedy_choice(params, {4, 2.5f}, {0}), 0);
  EXPECT_EQ(greedy_choice(params, {4, 2.5f}, {0, 0}), 1);
  params.frequency_penalty = 0.0f;
  params.presence_penalty = 1.0f;
  EXPECT_EQ(greedy_choice(params, {4, 2.5f}, {0, 0}), 0);
}

TEST(Sampler, BiasComesBeforePenalties) {
  SamplingParams params;
  params.repeat_penalty = 2.0f;
  params.logit_bias = {{0, 6.0f}};
  // (1 + 6) / 2 = 3.5 < 4; the other order would give 1 / 2 + 6 = 6.5.
  EXPECT_EQ(greedy_choice(params, {1, 4}, {0}), 1);
}

TEST(Sampler, PenaltiesComeBeforeTopK) {
  SamplingParams params = neutral();
  params.top_k = 1;
  params.presence_penalty = 3.0f;
  Sampler sampler(params, 3);
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(std::vector<float>{5, 4, 3}).value(), 1);
}

TEST(Sampler, FiltersJudgeBeforeTemperature) {
  SamplingParams params = neutral();
  params.top_p = 0.9f;
  params.temperature = 50.0f;  // would flatten all three into the 0.9
  Sampler sampler(params, 3);
  const auto result = sampler.distribution(std::vector<float>{6, 2, 1});
  EXPECT_EQ(result->size(), 1u);
}

TEST(Sampler, TopKComesBeforeTopP) {
  // p = 0.4, 0.3, 0.3: of all three 0.5 takes two tokens; of the best two (0.57, 0.43) it takes one.
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.3f)};
  SamplingParams params = neutral();
  params.top_p = 0.5f;
  EXPECT_EQ(Sampler(params, 3).distribution(logits)->size(), 2u);
  params.top_k = 2;
  EXPECT_EQ(Sampler(params, 3).distribution(logits)->size(), 1u);
}

TEST(Sampler, TopPComesBeforeMinPAndXtcAfterBoth) {
  const std::vector<float> logits = {std::log(0.5f), std::log(0.26f), std::log(0.2f), std::log(0.04f)};
  SamplingParams params = neutral();
  params.min_p = 0.3f;                                    // leaves 0, 1, 2
  params.xtc = {.probability = 1.0f, .threshold = 0.2f};  // then removes 0 and 1
  const auto result = Sampler(params, 4).distribution(logits);
  ASSERT_EQ(result->size(), 1u);
  EXPECT_EQ(result->front().id, 2);  // XTC first would leave 2 and 3, and min-p both
}

TEST(Sampler, DryPenalizesWhatWouldGoOnRepeating) {
  SamplingParams params;
  params.dry.multiplier = 1.0f;
  params.dry.base = 2.0f;
  params.dry.allowed_length = 2;
  const std::vector<int32_t> text = {1, 2, 3, 4, 0, 1, 2, 3};  // "1 2 3" then 4
  // The repeat of three tokens costs 1 * 2^(3 - 2) = 2.
  EXPECT_EQ(greedy_choice(params, {0, 0, 0, 0, 2.1f, 0}, text), 4);
  EXPECT_EQ(greedy_choice(params, {0, 0, 0, 0, 1.9f, 0}, text), 0);
  params.dry.sequence_breakers = {{1, 2}};  // the repeat now counts one token
  EXPECT_EQ(greedy_choice(params, {0, 0, 0, 0, 1.9f, 0}, text), 4);
  params.dry.sequence_breakers.clear();
  params.dry.penalty_last_n = 4;  // the earlier passage is out of sight
  EXPECT_EQ(greedy_choice(params, {0, 0, 0, 0, 1.9f, 0}, text), 4);
}

TEST(Sampler, SameSeedSameTokens) {
  Rng noise(5);
  std::vector<float> logits(500);
  auto run = [&](Sampler& sampler) {
    std::vector<int32_t> tokens;
    Rng rng(9);
    for (int i = 0; i < 100; ++i) {
      for (float& x : logits) x = static_cast<float>(rng.normal());
      tokens.push_back(sampler.sample(logits).value());
      sampler.accept(tokens.back());
    }
    return tokens;
  };
  SamplingParams params;
  params.seed = 42;
  params.repeat_penalty = 1.3f;
  params.dry.multiplier = 0.8f;
  params.xtc.probability = 0.3f;
  Sampler a(params, 500), b(params, 500);
  const auto first = run(a);
  EXPECT_EQ(first, run(b));
  a.reset();
  EXPECT_EQ(first, run(a)) << "reset() starts over";
  params.seed = 43;
  Sampler c(params, 500);
  EXPECT_NE(first, run(c));
  params.seed.reset();
  Sampler d(params, 500), e(params, 500);
  EXPECT_NE(d.seed(), e.seed());
  params.seed = d.seed();
  Sampler f(params, 500);
  EXPECT_EQ(run(d), run(f)) << "the seed that was drawn can be given";
}

// The `count` highest, of equal ones those of lower id, by ascending id.
std::pair<std::vector<int32_t>, std::vector<float>> highest(const std::vector<float>& logits, size_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto logit = [&](int32_t id) { return logits[static_cast<size_t>(id)]; };
  std::ranges::stable_sort(ids, std::greater(), logit);
  ids.resize(count);
  std::ranges::sort(ids);
  std::vector<float> values;
  for (const int32_t id : ids) values.push_back(logit(id));
  return {ids, values};
}

// Chains that look at no more than the highest logits.
std::vector<SamplingParams> narrow_chains() {
  const auto chain = [](int k, float top_p, float min_p, float typical_p, XtcParams xtc) {
    SamplingParams params;
    params.top_k = k;
    params.top_p = top_p;
    params.min_p = min_p;
    params.typical_p = typical_p;
    params.xtc = xtc;
    params.seed = 9;
    return params;
  };
  return {SamplingParams{.seed = 4},
          chain(1, 1, 0, 1, {}),
          chain(2, 1, 0, 1, {}),
          chain(40, 1, 0, 1, {}),
          chain(40, 0.7f, 0, 1, {}),
          chain(40, 1, 0.2f, 1, {}),
          chain(40, 1, 0, 0.6f, {}),
          chain(40, 1, 0, 1, {0.5f, 0.05f}),
          chain(128, 0.9f, 0.02f, 0.9f, {0.5f, 0.02f}),
          greedy()};
}

TEST(Sampler, OfTheHighestAsOfAll) {
  for (const SamplingParams& params : narrow_chains())
    for (const size_t vocab : {1u, 30u, 700u, 5000u}) {
      Sampler all(params, static_cast<int>(vocab)), few(params, static_cast<int>(vocab));
      const size_t wanted = few.highest_wanted();
      EXPECT_EQ(wanted, params.greedy ? 1 : std::min<size_t>(static_cast<size_t>(params.top_k), vocab));
      Rng rng(vocab);
      for (int i = 0; i < 60; ++i) {
        std::vector<float> logits(vocab);
        for (float& x : logits)
          x = i % 2 == 0 ? static_cast<float>(rng.normal() * 3) : static_cast<float>(rng.below(4));
        const auto [ids, values] = highest(logits, i % 3 == 0 ? wanted : std::min<size_t>(128, vocab));
        const auto expected = all.sample(logits), found = few.sample_highest(ids, values);
        ASSERT_TRUE(expected.has_value() && found.has_value());
        ASSERT_EQ(*found, *expected) << vocab << " tokens, top-k " << params.top_k << ", draw " << i;
      }
    }
}

// The first that is not finite is among the highest, and is named as it is where all logits are looked at.
TEST(Sampler, OfTheHighestNamesWhatIsNotFinite) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    std::vector<float> logits(130, 1.0f);
    logits[77] = bad;
    SamplingParams params;
    params.top_k = 3;
    Sampler all(params, 130), few(params, 130);
    const auto expected = all.sample(logits);
    const auto found = few.sample_highest(std::vector<int32_t>{3, 77, 99}, std::vector<float>{1, bad, 1});
    ASSERT_FALSE(expected.has_value());
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().message, expected.error().message);
    EXPECT_EQ(found.error().hint, expected.error().hint);
  }
}

// What can change any logit, or keeps all of them, wants all.
TEST(Sampler, WantsAllLogitsWhereAnyCanCount) {
  const std::vector<std::function<void(SamplingParams&)>> changes = {
      [](auto& p) { p.top_k = 0; },
      [](auto& p) { p.logit_bias = {{3, 0.5f}}; },
      [](auto& p) { p.repeat_penalty = 1.1f; },
      [](auto& p) { p.frequency_penalty = 0.1f; },
      [](auto& p) { p.presence_penalty = -0.1f; },
      [](auto& p) { p.dry.multiplier = 0.5f; },
      [](auto& p) { p.greedy = true, p.logit_bias = {{3, 0.5f}}; }};
  for (const auto& change : changes) {
    SamplingParams params;
    EXPECT_EQ(Sampler(params, 100).highest_wanted(), 40u);
    change(params);
    EXPECT_EQ(Sampler(params, 100).highest_wanted(), 0u) << &change - changes.data();
  }
}

TEST(SamplerScan, ExpIsAccurate) {
  double worst = 0;
  for (float x = 0; x > -86.9f; x = std::nextafter(x - 1e-3f, -kInfinity))
    worst = std::max(worst, std::abs(exp_nonpositive(x) / std::exp(static_cast<double>(x)) - 1));
  EXPECT_LT(worst, 2e-7);
  EXPECT_EQ(exp_nonpositive(0.0f), 1.0f);
  EXPECT_EQ(exp_nonpositive(-0.0f), 1.0f);
  EXPECT_EQ(exp_nonpositive(-kInfinity), 0.0f);
  EXPECT_EQ(exp_nonpositive(-1e30f), 0.0f);
}

TEST(SamplerScan, WeightOfMassIsATightThreshold) {
  Rng rng(2);
  std::vector<float> weights(5000);
  for (float& w : weights) w = exp_nonpositive(static_cast<float>(-20 * rng.uniform()));
  weights[17] = 1.0f;
  weights[18] = 0.0f;
  double total = 0;
  for (const float w : weights) total += w;
  for (const double share : {0.0, 0.01, 0.5, 0.95, 0.999999}) {
    const float least = weight_of_mass(weights, share * total);
    double kept = 0, next_class = 0;
    for (const float w : weights) {
      if (w >= least) kept += w;
      if (w >= least * 1.13f) next_class += w;
    }
    EXPECT_GE(kept, share * total);
    EXPECT_LE(next_class, std::max(share * total, 1.0)) << "a higher threshold would have done";
  }
  EXPECT_EQ(weight_of_mass(weights, total * 1.01), 0.0f);
}

TEST(SamplerScan, ExpAllIsExpOfEach) {
  Rng rng(1);
  for (const size_t n : {1u, 63u, 64u, 65u, 517u}) {
    std::vector<float> x(n), weights(n);
    for (float& v : x) v = static_cast<float>(rng.normal() * 10);
    const float max = maximum(x);
    std::vector<double> sums(scan_blocks(n));
    const double total = exp_all(x, max, 0.7f, weights, sums);
    double sum = 0, blocks = 0;
    for (size_t i = 0; i < n; ++i) {
      EXPECT_EQ(weights[i], exp_nonpositive((x[i] - max) * 0.7f));
      sum += weights[i];
    }
    for (const double s : sums) blocks += s;
    EXPECT_DOUBLE_EQ(total, blocks);
    EXPECT_NEAR(total, sum, 1e-12 * static_cast<double>(n) * sum);
  }
}

}  // namespace
}  // namespace brass
