// Tiny random models against transformers' float32: the logits of the first and the last position, the likelihood of
// every one, and the greedy tokens. Files of architectures that are not built are counted and left out.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "model/architecture.h"
#include "model_fixture.h"
#include "sanitized.h"

namespace brass {
namespace {

using Json = nlohmann::ordered_json;

struct Reference {
  std::string name, path;
  Json values;
  bool experts;
};

std::vector<Reference> references_in(const std::string& folder) {
  std::vector<Reference> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    std::filesystem::path model = entry.path();
    model.replace_extension(".gguf");
    std::ifstream in(entry.path());
    Json values = Json::parse(in);
    if (find_architecture(values["arch"].get<std::string>()) == nullptr) continue;
    const auto loaded = load_model(model.string());
    if (!loaded) {  // a variant that the architecture refuses by name
      EXPECT_NE(loaded.error().message.find("not supported"), std::string::npos) << loaded.error().message;
      std::printf("[  SKIPPED ] %s\n", loaded.error().message.c_str());
      continue;
    }
    const bool experts =
        std::ranges::any_of((*loaded)->graph->ops, [](const Op& op) { return op.kind == OpKind::kMoeRoute; });
    found.push_back({entry.path().stem().string(), model.string(), std::move(values), experts});
  }
  return found;
}

// Under the sanitizers one of each architecture and folder: what they look for is the same in its variants.
std::vector<Reference> sampled(std::vector<Reference> all) {
  if (!kSanitized) return all;
  std::ranges::sort(all, {}, &Reference::name);
  std::set<std::string> seen;
  std::erase_if(all,
                [&](const Reference& r) { return !seen.insert(r.values["arch"].get<std::string>()).second; });
  return all;
}

std::vector<Reference> all_references() {
  std::vector<Reference> all =
      sampled(references_in(std::string(BRASS_SOURCE_DIR) + "/tests/runtime/fixtures"));
  if (const auto folder = shared_data("tiny"))
    for (Reference& r : sampled(references_in(*folder))) all.push_back(std::move(r));
  return all;
}

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
