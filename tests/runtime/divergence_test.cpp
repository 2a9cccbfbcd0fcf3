// The divergence of two engines, against the same sums over their logits.
#include "runtime/divergence.h"

#include <algorithm>
#include <cmath>

#include "model_fixture.h"
#include "sanitized.h"

namespace brass {
namespace {

// Σ p log(p ÷ q) by probabilities, in long double.
double plain_kl(std::span<const float> base, std::span<const float> other) {
  const auto probabilities = [](std::span<const float> x) {
    std::vector<long double> p;
    long double sum = 0;
    for (const float v : x) sum += p.emplace_back(std::exp(static_cast<long double>(v)));
    for (long double& v : p) v /= sum;
    return p;
  };
  const auto p = probabilities(base), q = probabilities(other);
  long double kl = 0;
  for (size_t i = 0; i < p.size(); i++) kl += p[i] * std::log(p[i] / q[i]);
  return static_cast<double>(kl);
}

TEST(Divergence, OfDistributionsThatAreKnown) {
  const float half[] = {0, 0}, skewed[] = {std::log(9.0f), 0};  // ½ ½; 0.9 0.1
  EXPECT_NEAR(kl_divergence(half, skewed), 0.5 * std::log(0.5 / 0.9) + 0.5 * std::log(0.5 / 0.1), 1e-7);
  EXPECT_NEAR(kl_divergence(skewed, half), 0.9 * std::log(1.8) + 0.1 * std::log(0.2), 1e-7);
  EXPECT_EQ(kl_divergence(skewed, skewed), 0);
  const float far[] = {1000, -1000, 999};  // no overflow, and what is never chosen costs nothing
  EXPECT_NEAR(kl_divergence(far, far), 0, 1e-12);
  const float shifted[] = {0, -2000, -1};
  EXPECT_NEAR(kl_divergence(far, shifted), 0, 1e-7);
}

TEST(Divergence, OfTwoEnginesIsThatOfTheirLogits) {
  const TempFolder folder;
  for (const std::string& path : all_models(folder)) {
    SCOPED_TRACE(path);
    const auto base = open(path, {.kv_type = KvType::kF32});
    const auto other = open(path, {.kv_type = KvType::kInt8});
    const std::vector<int32_t> ids = random_ids(*base, kSanitized ? 70 : 100, 5);
    const auto found = measure_divergence(*base, *other, ids);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(found->positions, ids.size());
    const LogitTable a = logits_of(*base, ids), b = logits_of(*other, ids);
    double sum = 0, largest = 0;
    uint32_t same = 0;
    for (size_t i = 0; i < ids.size(); i++) {
      const double kl = plain_kl(a[i], b[i]);
      sum += kl;
      largest = std::max(largest, kl);
      same += std::ranges::max_element(a[i]) - a[i].begin() == std::ranges::max_element(b[i]) - b[i].begin();
    }
    EXPECT_NEAR(found->kl_sum, sum, 1e-6 + 1e-4 * sum);
    EXPECT_NEAR(found->kl_largest, largest, 1e-6 + 1e-4 * largest);
    EXPECT_EQ(found->same_top, same);
    const auto itself = measure_divergence(*base, *open(path, {.kv_type = KvType::kF32}), ids);
    ASSERT_TRUE(itself.has_value());
    EXPECT_NEAR(itself->kl_sum, 0, 1e-9);
    EXPECT_EQ(itself->same_top, ids.size());
  }
}

TEST(Divergence, TextsThatDoNotFitAreRefused) {
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const auto base = open(path, {.context = 64});
  const auto found = measure_divergence(*base, *open(path, {}), std::vector<int32_t>(65, 1));
  ASSERT_FALSE(found.has_value());
  EXPECT_NE(found.error().message.find("65"), std::string::npos) << found.error().message;
  EXPECT_TRUE(measure_divergence(*base, *open(path, {}), std::vector<int32_t>(64, 1)).has_value());
}

}  // namespace
}  // namespace brass
