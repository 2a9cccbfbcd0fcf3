// Which logit is chosen.
#include "graph/choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "base/rng.h"

namespace brass {
namespace {

int64_t choice(const std::vector<float>& logits) { return choice_of(logits); }

TEST(Choice, IsTheLargestAndTheFirstOfEqualOnes) {
  EXPECT_EQ(choice({7}), 0);
  EXPECT_EQ(choice({1, 4, 2, 4}), 1);
  EXPECT_EQ(choice({-3, -1, -2}), 1);
  EXPECT_EQ(choice({-0.0f, 0.0f}), 0);
  EXPECT_EQ(choice({0, 1, 2, 3}), 3);
}

TEST(Choice, NamesTheFirstThatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float fault : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(choice({fault, 1}), -1);
    EXPECT_EQ(choice({1, 9, fault, 2, fault}), -3);
    EXPECT_EQ(choice({1, 9, 2, fault}), -4);
  }
}

using Numbers = std::vector<uint32_t>;
Numbers candidates(const std::vector<float>& logits, uint32_t count) { return candidates_of(logits, count); }

TEST(Choice, CandidatesAreTheLargestInOrderOfNumber) {
  EXPECT_EQ(candidates({7}, 1), Numbers{0});
  EXPECT_EQ(candidates({1, 4, 2, 4, 3}, 1), Numbers{1});
  EXPECT_EQ(candidates({1, 4, 2, 4, 3}, 3), (Numbers{1, 3, 4}));
  EXPECT_EQ(candidates({5, 5, 5, 5}, 2), (Numbers{0, 1}));
  EXPECT_EQ(candidates({-1, -0.0f, 0.0f, -0.0f}, 2), (Numbers{1, 2}));
  EXPECT_EQ(candidates({3, 1, 2}, 3), (Numbers{0, 1, 2}));
}

TEST(Choice, CandidatesHaveWhatIsNotFiniteFirst) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(candidates({1, 2, 3, -kInfinity}, 2), (Numbers{2, 3}));
  EXPECT_EQ(candidates({1, kNan, 3, kInfinity, -kNan, 9}, 2), (Numbers{1, 3}));
  EXPECT_EQ(candidates({9, kNan, 3, kInfinity}, 3), (Numbers{0, 1, 3}));
}

TEST(Choice, CandidatesAreThoseOfASort) {
  Rng rng(3);
  for (const uint32_t n : {1u, 2u, 17u, 1000u})
    for (const uint64_t kinds : {2u, 20u, 1000000u}) {
      std::vector<float> logits(n);
      for (float& x : logits) x = static_cast<float>(rng.below(kinds)) - 5;
      Numbers sorted(n);
      std::iota(sorted.begin(), sorted.end(), 0);
      std::ranges::stable_sort(sorted, [&](uint32_t a, uint32_t b) { return logits[a] > logits[b]; });
      for (uint32_t count = 1; count <= n; count += 1 + count / 2) {
        Numbers expected(sorted.begin(), sorted.begin() + count);
        std::ranges::sort(expected);
        EXPECT_EQ(candidates(logits, count), expected) << count << " of " << n;
      }
    }
}

}  // namespace
}  // namespace brass
