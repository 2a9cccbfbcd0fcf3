// Tiny random models against transformers' float32: the logits of the first and the last position, the likelihood of
// every one, and the greedy tokens. Files of architectures that are not built are counted and left out.
#include <cmath>

#include "reference_fixture.h"

namespace brass {
namespace {

double worst_difference(const std::vector<float>& logits, const Json& expected) {
  double worst = 0;
  for (size_t i = 0; i < logits.size(); i++)
    worst = std::max(worst, std::abs(static_cast<double>(logits[i]) - expected[i].get<double>()));
  return worst;
}

double likelihood_cost(const std::vector<float>& logits, int32_t next) {
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x));
  return std::log(sum) - logits[static_cast<size_t>(next)];
}

// `bound`: of the logits' standard deviation.
void check(const Reference& r, Setting setting, double bound) {
  SCOPED_TRACE(r.name + " " + setting.device);
  const auto ids = r.values["ids"].get<std::vector<int32_t>>();
  const auto greedy = r.values["greedy16"].get<std::vector<int32_t>>();
  setting.context = static_cast<uint32_t>(ids.size() + greedy.size());  // some models rotate by it
  const auto engine = open(r.path, setting);
  const LogitTable rows = logits_of(*engine, ids);
  const double spread = r.values["logit_std_last"].get<double>();
  EXPECT_LT(worst_difference(rows.front(), r.values["logits_first"]) / spread, bound);
  EXPECT_LT(worst_difference(rows.back(), r.values["logits_last"]) / spread, bound);
  for (size_t i = 0; i + 1 < ids.size(); i++)
    EXPECT_NEAR(likelihood_cost(rows[i], ids[i + 1]), r.values["nll"][i].get<double>(), 4 * bound * spread)
        << i;
  // The reference's own continuation, teacher-forced: the same choice wherever its choice is clear.
  std::vector<int32_t> longer = ids;
  longer.insert(longer.end(), greedy.begin(), greedy.end());
  const LogitTable more = logits_of(*engine, longer);
  for (size_t i = 0; i < greedy.size(); i++) {
    if (r.values["greedy_gap"][i].get<double>() < 4 * bound * spread) continue;
    const auto& row = more[ids.size() - 1 + i];
    EXPECT_EQ(std::ranges::max_element(row) - row.begin(), greedy[i]) << "reply token " << i;
  }
}

TEST(Reference, RefAgreesWithTransformers) {
  for (const Reference& r : all_references()) check(r, {.device = "ref", .kv_type = KvType::kF32}, 1e-4);
}

// With experts the cache's rounding can choose another one where two are nearly equal, which costs any bound.
TEST(Reference, CpuAgreesWithTransformers) {
  for (const Reference& r : all_references()) {
    check(r, {.device = "cpu", .kv_type = KvType::kF32}, 2e-2);
    if (!r.experts) check(r, {.device = "cpu"}, 2e-2);
  }
}

}  // namespace
}  // namespace brass
