// What a run of the bench plans, what its measuring costs, what drafts would have saved: arithmetic, without a device.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/lookup.h"
#include "report/overhead.h"
#include "report/schedule.h"

namespace brass::report {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

TEST(Schedule, ASlowMachineGetsAShorterPrompt) {
  EXPECT_EQ(prompt_tokens(0.001, 11, 19, 512), 512u);  // 5.6 s
  EXPECT_EQ(prompt_tokens(0.01, 11, 19, 512), 128u);   // 512 need 56 s, 256 need 28 s, 128 need 14 s
  EXPECT_EQ(prompt_tokens(10, 11, 19, 512), kFewestPromptTokens);
  EXPECT_EQ(prompt_tokens(10, 11, kEndless, 512), 512u);
  EXPECT_EQ(prompt_tokens(10, 11, 19, 7), 7u) << "a context that is shorter still";
}

TEST(Schedule, DecodeFitsIntoItsTime) {
  const std::vector<double> fast = {0.01, 0.02}, slow = {1.0, 2.0};
  const DecodeRounds all = decode_rounds(fast, 5, 24);
  EXPECT_EQ(all.tokens, (std::vector<uint32_t>{32, 25}));
  EXPECT_EQ(all.rounds, 5u);
  EXPECT_EQ(decode_rounds(fast, 50, 24).rounds, 28u);  // of 33 · 0.01 + 26 · 0.02 = 0.85 s
  const DecodeRounds few = decode_rounds(slow, 5, 24);
  EXPECT_EQ(few.tokens, (std::vector<uint32_t>{4, 4}));  // 8 of them take 27 s
  EXPECT_EQ(few.rounds, 1u);
  const DecodeRounds least = decode_rounds(slow, 5, 0);
  EXPECT_EQ(least.tokens, (std::vector<uint32_t>{2, 2}));
  EXPECT_EQ(least.rounds, 1u) << "never nothing";
  const DecodeRounds endless = decode_rounds(slow, 7, kEndless);
  EXPECT_EQ(endless.tokens, (std::vector<uint32_t>{8, 8}));
  EXPECT_EQ(endless.rounds, 7u);
}

TEST(Schedule, PairsFillTheirTime) {
  EXPECT_EQ(pairs_in(0.1, 3, 6, 24), 15u);
  EXPECT_EQ(pairs_in(10, 3, 6, 24), 6u);
  EXPECT_EQ(pairs_in(0.1, kEndless, 6, 24), 24u);
}

// Rounds that drift by half, which both sides of a pair share, and whose pairs differ by up to `noise`.
Overhead rounds(double added, double noise) {
  Overhead o{.with = {}, .without = {}, .clock_share = 2e-6};
  for (int i = 0; i < 24; i++) {
    const double drift = 1 + 0.02 * i, off = noise * std::sin(i * 1.7);
    o.without.push_back(drift);
    o.with.push_back(drift * (1 + added) * (1 + off));
  }
  return o;
}

TEST(CostOfMeasuring, IsTheMedianOfPairs) {
  const Interval none = overhead_share(rounds(0, 0.001));
  EXPECT_NEAR(none.middle, 0, 0.001);
  EXPECT_LT(none.low, 0);
  EXPECT_GT(none.high, 0);
  EXPECT_NEAR(overhead_share(rounds(0.05, 0.001)).middle, 0.05, 0.002);
  Overhead exact{.with = {1.02, 2.04, 3.06}, .without = {1, 2, 3}, .clock_share = 0};
  EXPECT_NEAR(overhead_share(exact).low, 0.02, 1e-12);
  EXPECT_NEAR(overhead_share(exact).high, 0.02, 1e-12);
}

TEST(CostOfMeasuring, OnePercentIsSaidOnlyWhereItIsShown) {
  const auto says = [](const Overhead& o, const char* part) {
    return describe(o).find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(rounds(0, 0.001), ": below 1 %")) << describe(rounds(0, 0.001));
  EXPECT_TRUE(says(rounds(0.05, 0.001), "MORE THAN 1 %"));
  EXPECT_TRUE(says(rounds(0, 0.1), "disturbed")) << describe(rounds(0, 0.1));
  EXPECT_FALSE(says(rounds(0, 0.1), "): below 1 %"));
  EXPECT_TRUE(says(rounds(-0.3, 0.001), "disturbed")) << "measuring makes nothing faster";
  const Overhead two{.with = {1.0, 1.0}, .without = {1.0, 1.0}, .clock_share = 0};
  EXPECT_TRUE(says(two, "too few pairs"));
  EXPECT_TRUE(says(rounds(0, 0.001), "24 pairs"));
  EXPECT_TRUE(says(rounds(0, 0.001), "0.0002 %"));
}

TEST(Lookup, AReplyThatRepeatsTakesFewerSteps) {
  // Prompt 1 2 3 4 5 6 7, reply 1 2 3 4 5 6 9: its 1 is the prompt's, 2 a step; behind "1 2" stand 3 4 5 6.
  const std::vector<int32_t> text = {1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 9};
  const LookupReplay r = replay_lookup(text, 7, 2, 4);
  EXPECT_EQ(r.plain, 1u);
  EXPECT_EQ(r.drafting, 1u);
  EXPECT_EQ(r.drafted, 4u);
  EXPECT_EQ(r.accepted, 4u);
  EXPECT_EQ(r.tokens, 6u);
  EXPECT_DOUBLE_EQ(r.acceptance(), 1);
}

TEST(Lookup, WrongDraftsCostAndGainNothing) {
  const std::vector<int32_t> text = {1, 2, 3, 4, 1, 2, 8, 8};
  const LookupReplay r = replay_lookup(text, 5, 2, 3);  // behind "1 2": 3 4 1 are proposed, 8 comes
  EXPECT_EQ(r.plain, 1u);
  EXPECT_EQ(r.drafting, 1u);
  EXPECT_EQ(r.drafted, 3u);
  EXPECT_EQ(r.accepted, 0u);
  EXPECT_EQ(r.tokens, 2u);
}

TEST(Lookup, NewTextTakesAStepAToken) {
  std::vector<int32_t> text(40);
  for (int i = 0; i < 40; i++) text[static_cast<size_t>(i)] = i;
  const LookupReplay r = replay_lookup(text, 10, 2, 4);
  EXPECT_EQ(r.plain, 29u);
  EXPECT_EQ(r.tokens, 29u);
  EXPECT_EQ(r.drafting, 0u);
  EXPECT_EQ(replay_lookup(text, 40, 2, 4).steps(), 0u);
}

}  // namespace
}  // namespace brass::report
