// Which logit is chosen.
#include "graph/choice.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

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

}  // namespace
}  // namespace brass
