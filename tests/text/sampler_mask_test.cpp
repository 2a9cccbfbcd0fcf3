// Sampling under a mask, against a plain model of the distribution, and against biases of minus infinity.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "text/sampler.h"

namespace brass {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<uint64_t> mask_of(const std::vector<bool>& allowed) {
  std::vector<uint64_t> mask((allowed.size() + 63) / 64);
  for (size_t id = 0; id < allowed.size(); ++id)
    if (allowed[id]) mask[id / 64] |= uint64_t{1} << id % 64;
  return mask;
}

struct Case {
  SamplingParams params;
  std::vector<float> logits;
  std::vector<bool> allowed;
  std::vector<int32_t> text;
};

// Sizes around the blocks of the scan; masks from nearly empty to nearly full, with whole blocks of either.
Case random_case(std::mt19937_64& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto unit = [&] { return std::uniform_real_distribution<float>()(random); };
  constexpr size_t kSizes[] = {1, 5, 63, 64, 65, 130, 200, 700};
  Case c;
  const size_t vocab = kSizes[below(std::size(kSizes))];
  const float share[] = {0.02f, 0.5f, 0.98f};
  const float block_share = share[below(3)];
  for (size_t id = 0; id < vocab; ++id) {
    c.logits.push_back(std::normal_distribution<float>(0, 2)(random));
    c.allowed.push_back(unit() < block_share);
  }
  if (vocab > 128) {
    std::fill_n(c.allowed.begin(), 64, below(2) == 0);
    std::fill_n(c.allowed.begin() + 64, 64, below(2) == 0);
  }
  c.allowed[below(vocab)] = true;
  for (size_t i = below(6); i-- > 0;) c.text.push_back(static_cast<int32_t>(below(vocab)));

  SamplingParams& p = c.params;
  p.seed = random();
  p.temperature = below(8) == 0 ? 0.0f : 0.3f + 2 * unit();
  p.top_k = below(2) == 0 ? 0 : static_cast<int>(1 + below(50));
  p.top_p = below(2) == 0 ? 1.0f : 0.3f + 0.69f * unit();
  p.min_p = below(2) == 0 ? 0.0f : 0.3f * unit();
  p.typical_p = below(3) == 0 ? 0.3f + 0.69f * unit() : 1.0f;
  p.repeat_penalty = below(2) == 0 ? 1.0f : 1.3f;
  p.presence_penalty = below(3) == 0 ? 0.7f : 0.0f;
  if (below(4) == 0) p.xtc = {.probability = 1.0f, .threshold = 0.4f * unit()};
  if (below(2) == 0) p.logit_bias.emplace_back(static_cast<int32_t>(below(vocab)), 3 * unit());
  return c;
}

// The header's steps in doubles, one loop each, over the tokens that the mask allows and no others.
class PlainModel {
 public:
  explicit PlainModel(const Case& c) : p_(c.params) {
    for (size_t id = 0; id < c.logits.size(); ++id)
      if (c.allowed[id]) list_.push_back({static_cast<int32_t>(id), c.logits[id]});
    for (Item& item : list_) adjust(item, c.text);
    sort_by_logit();
  }

  // Probabilities by id. `close`: a filter's border is within rounding of a token, so either side is right.
  std::map<int32_t, double> distribution(bool& close) {
    if (p_.greedy || p_.temperature == 0) return {{list_.front().id, 1.0}};
    if (p_.top_k > 0 && list_.size() > static_cast<size_t>(p_.top_k)) list_.resize(p_.top_k);
    if (p_.typical_p < 1) typical(close);
    if (p_.top_p < 1) cut_at_mass(p_.top_p, close);
    if (p_.min_p > 0) min_p(close);
    if (p_.xtc.probability > 0) xtc(close);
    std::map<int32_t, double> result;
    double total = 0;
    for (const Item& item : list_) total += std::exp((item.logit - list_.front().logit) / p_.temperature);
    for (const Item& item : list_)
      result[item.id] = std::exp((item.logit - list_.front().logit) / p_.temperature) / total;
    return result;
  }

 private:
  struct Item {
    int32_t id;
    double logit;
    double score = 0;
  };

  void adjust(Item& item, const std::vector<int32_t>& text) const {
    for (const auto& [id, bias] : p_.logit_bias)
      if (id == item.id) item.logit = static_cast<float>(item.logit) + bias;
    if (std::ranges::find(text, item.id) == text.end()) return;
    item.logit = item.logit > 0 ? item.logit / p_.repeat_penalty : item.logit * p_.repeat_penalty;
    item.logit -= p_.presence_penalty;
  }
  void sort_by_logit() {
    std::ranges::sort(list_, [](const Item& a, const Item& b) {
      return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
    });
  }
  std::vector<double> probabilities() const {
    std::vector<double> p;
    double total = 0, highest = -1e300;
    for (const Item& item : list_) highest = std::max(highest, item.logit);
    for (const Item& item : list_) total += std::exp(item.logit - highest);
    for (const Item& item : list_) p.push_back(std::exp(item.logit - highest) / total);
    return p;
  }
  // Keeps the fewest in their order that reach the mass.
  void cut_at_mass(double mass, bool& close) {
    const std::vector<double> p = probabilities();
    double sum = 0;
    size_t kept = 0;
    while (kept < p.size() && sum < mass) {
      sum += p[kept++];
      close = close || std::abs(sum - mass) < 1e-5;
    }
    list_.resize(std::max<size_t>(kept, 1));
  }
  void typical(bool& close) {
    const std::vector<double> p = probabilities();
    double entropy = 0;
    for (const double x : p) entropy -= x > 0 ? x * std::log(x) : 0;
    for (size_t i = 0; i < p.size(); ++i) list_[i].score = std::abs(-std::log(p[i]) - entropy);
    std::ranges::sort(list_, {}, &Item::score);
    for (size_t i = 1; i < list_.size(); ++i)
      close = close || std::abs(list_[i].score - list_[i - 1].score) < 1e-5;
    cut_at_mass(p_.typical_p, close);
    sort_by_logit();
  }
  void min_p(bool& close) {
    const double least = list_.front().logit + std::log(static_cast<double>(p_.min_p));
    for (const Item& item : list_) close = close || std::abs(item.logit - least) < 1e-5;
    std::erase_if(list_, [&](const Item& item) { return item.logit < least; });
  }
  void xtc(bool& close) {
    const std::vector<double> p = probabilities();
    size_t top = 0;
    for (const double x : p) {
      close = close || std::abs(x - p_.xtc.threshold) < 1e-6;
      top += x >= p_.xtc.threshold ? 1 : 0;
    }
    if (top > 1) list_.erase(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(top) - 1);
  }

  SamplingParams p_;
  std::vector<Item> list_;
};

TEST(SamplerMask, EqualsAPlainModelOfTheDistribution) {
  std::mt19937_64 random(7);
  int judged = 0;
  for (int i = 0; i < 1500; ++i) {
    const Case c = random_case(random);
    bool close = false;
    const std::map<int32_t, double> expected = PlainModel(c).distribution(close);
    if (close) continue;
    ++judged;
    SCOPED_TRACE(fmt::format("case {} of {} tokens", i, c.logits.size()));
    Sampler sampler(c.params, static_cast<int>(c.logits.size()));
    for (const int32_t token : c.text) sampler.accept(token);
    const std::vector<uint64_t> mask = mask_of(c.allowed);
    const auto got = sampler.distribution(c.logits, mask);
    ASSERT_TRUE(got) << got.error().message;
    std::map<int32_t, double> probability;
    for (const TokenProbability& t : *got) probability[t.id] = t.probability;
    for (const auto& [id, p] : expected) ASSERT_NEAR(probability[id], p, 1e-5 + 1e-4 * p) << "token " << id;
    for (const auto& [id, p] : probability) {
      ASSERT_TRUE(c.allowed[static_cast<size_t>(id)]) << "token " << id;
      ASSERT_TRUE(expected.contains(id) || p < 1e-5) << "token " << id;
    }
  }
  EXPECT_GT(judged, 1000);
}

TEST(SamplerMask, IsABiasOfMinusInfinity) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 400; ++i) {
    Case c = random_case(random);
    if (i % 3 == 0) c.params.dry.multiplier = 1.0f;
    const auto vocab = static_cast<int>(c.logits.size());
    SamplingParams biased = c.params;
    for (int32_t id = 0; id < vocab; ++id)
      if (!c.allowed[static_cast<size_t>(id)]) biased.logit_bias.emplace_back(id, -kInfinity);
    Sampler by_mask(c.params, vocab), by_bias(biased, vocab);
    const std::vector<uint64_t> mask = mask_of(c.allowed);
    for (int n = 0; n < 12; ++n) {
      const auto token = by_mask.sample(c.logits, mask);
      ASSERT_TRUE(token) << token.error().message;
      ASSERT_EQ(*token, by_bias.sample(c.logits).value());
      by_mask.accept(*token);
      by_bias.accept(*token);
    }
  }
}

TEST(SamplerMask, DrawsFollowTheMaskedDistribution) {
  std::mt19937_64 random(9);
  for (const int top_k : {0, 20}) {
    std::vector<float> logits;
    std::vector<bool> allowed;
    for (int id = 0; id < 150; ++id) {
      logits.push_back(id % 7 == 0 ? 2.0f : 0.0f);
      allowed.push_back(id % 15 == 0);  // the likeliest is among them only as 0 and 105
    }
    SamplingParams params{.temperature = 1.0f, .top_k = top_k, .top_p = 1.0f, .min_p = 0.0f, .seed = 3};
    Sampler sampler(params, 150);
    const std::vector<uint64_t> mask = mask_of(allowed);
    std::map<int32_t, int> count;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) count[sampler.sample(logits, mask).value()]++;
    EXPECT_EQ(count.size(), 10u);
    const double total = 2 * std::exp(2.0) + 8;
    for (const auto& [id, n] : count) {
      const double p = (id % 7 == 0 ? std::exp(2.0) : 1.0) / total;
      EXPECT_NEAR(n, kDraws * p, 5 * std::sqrt(kDraws * p)) << id;
    }
  }
}

TEST(SamplerMask, MayChangeFromCallToCall) {
  SamplingParams params{.greedy = true};
  Sampler sampler(params, 100);
  std::vector<float> logits(100);
  for (size_t id = 0; id < 100; ++id) logits[id] = static_cast<float>(id);
  std::vector<uint64_t> mask = {~uint64_t{0}, 0};
  EXPECT_EQ(sampler.sample(logits).value(), 99);
  EXPECT_EQ(sampler.sample(logits, mask).value(), 63);
  EXPECT_EQ(sampler.sample(logits).value(), 99);
  mask = {uint64_t{1} << 5, uint64_t{1} << 20};
  EXPECT_EQ(sampler.sample(logits, mask).value(), 84);
  mask = {uint64_t{1} << 5, ~uint64_t{0} << 36};  // beyond the vocabulary: no tokens
  EXPECT_EQ(sampler.sample(logits, mask).value(), 5);
}

TEST(SamplerMask, WhatLeavesNothingIsAnError) {
  std::vector<float> logits(70, 1.0f);
  for (const bool greedy : {false, true}) {
    SamplingParams params{.greedy = greedy};
    const std::vector<uint64_t> nothing(2), beyond = {0, ~uint64_t{0} << 6}, one = {8, 0};
    for (const auto& mask : {nothing, beyond}) {
      const auto result = Sampler(params, 70).sample(logits, mask);
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().message, "mask: no token of the vocabulary is allowed");
    }
    params.logit_bias = {{3, -kInfinity}};
    const auto result = Sampler(params, 70).sample(logits, one);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "logit_bias: every token that the mask allows is forbidden");
    // A damaged model is named even where the mask would hide it.
    logits[50] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(Sampler(SamplingParams{}, 70).sample(logits, one));
    logits[50] = 1.0f;
  }
}

}  // namespace
}  // namespace brass
