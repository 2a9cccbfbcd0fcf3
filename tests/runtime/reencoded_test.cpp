// The tiny models in Q8_0: the CPU against ref on the same file.
#include "reencoded.h"

#include <cmath>

#include "reference_fixture.h"
#include "runtime/embedding.h"
#include "source_dir.h"

namespace brass {
namespace {

// How clear a choice of the `used` largest is: how far the next one lies below the last one taken, of whose size.
double gap_behind(std::vector<double> scores, uint32_t used) {
  if (used >= scores.size()) return 1;
  std::ranges::sort(scores, std::greater());
  return (scores[used - 1] - scores[used]) / std::abs(scores[used - 1]);
}

// What the experts are chosen by. Of a softmax: probabilities, also where only those of the selected are used.
std::vector<double> selection_scores(std::span<const float> logits, const RouteAttrs& a,
                                     std::span<const float> bias) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  std::vector<double> scores;
  for (const float x : logits) {
    const double exponential = std::exp(static_cast<double>(x) - largest);
    sum += exponential;
    scores.push_back(a.score == RouteScore::kSigmoid ? 1 / (1 + std::exp(-static_cast<double>(x)))
                                                     : exponential);
  }
  for (size_t e = 0; e < scores.size(); e++) {
    if (a.score != RouteScore::kSigmoid) scores[e] /= sum;
    if (!bias.empty()) scores[e] += static_cast<double>(bias[e]);
  }
  return scores;
}

double choice_gap(std::span<const float> logits, const RouteAttrs& a, std::span<const float> bias) {
  std::vector<double> scores = selection_scores(logits, a, bias);
  if (a.groups_used == a.groups) return gap_behind(scores, a.used);
  const size_t size = scores.size() / a.groups;
  std::vector<double> of_group;
  for (size_t g = 0; g < a.groups; g++) {
    std::vector<double> own(scores.begin() + static_cast<ptrdiff_t>(g * size),
                            scores.begin() + static_cast<ptrdiff_t>((g + 1) * size));
    std::ranges::sort(own, std::greater());
    of_group.push_back(a.group_score == GroupScore::kMax || size == 1 ? own[0] : own[0] + own[1]);
  }
  std::vector<double> best = of_group;
  std::ranges::sort(best, std::greater());
  std::vector<double> kept;
  for (size_t e = 0; e < scores.size(); e++)
    if (of_group[e / size] >= best[a.groups_used - 1]) kept.push_back(scores[e]);
  return std::min(gap_behind(of_group, a.groups_used), gap_behind(kept, a.used));
}

// Of each position the least over the layers: by how much ref's router prefers the last expert that it takes; 1 where
// there are none. A route's logits are read as the rows that a plan makes besides.
std::vector<double> choice_gaps(const std::string& path, const ModelPurpose& purpose, uint32_t context,
                                const std::vector<int32_t>& ids) {
  std::vector<double> gaps(ids.size(), 1);
  const auto whole = load_model(path, purpose);
  const Graph& graph = *(*whole)->graph;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kMoeRoute) continue;
    const auto& route = op.as<RouteAttrs>();
    std::vector<float> bias;
    if (route.selection_bias) bias = vector_values(graph.weights[static_cast<size_t>(op.weights[0])]);
    auto model = load_model(path, purpose);
    auto tapped = std::make_shared<Graph>(*(*model)->graph);
    tapped->hidden = op.in[0];
    (*model)->graph = tapped;
    const auto engine = *Engine::create(std::move(*model), make_ref_device({.threads = 2}),
                                        {.context = context, .chunk = 512}, {});
    const SequenceId id = *engine->create_sequence();
    engine->want_hidden(id, true);
    engine->want_logits(id, LogitRows::kAll);  // the last layer has no other rows
    EXPECT_TRUE(engine->sync(id, ids).has_value());
    while (engine->has_work()) {
      EXPECT_TRUE(engine->step().has_value());
      for (const StepRows& rows : engine->hidden_rows())
        for (uint32_t i = 0; i < rows.count; i++) {
          double& gap = gaps[rows.first_position + i];
          gap = std::min(gap, choice_gap(engine->hidden(rows.first_row + i), route, bias));
        }
    }
  }
  return gaps;
}

double distance_of_spread(const std::vector<float>& found, const std::vector<float>& expected) {
  double mean = 0, square = 0, worst = 0;
  for (const float x : expected) mean += static_cast<double>(x) / static_cast<double>(expected.size());
  for (size_t i = 0; i < expected.size(); i++) {
    square += std::pow(static_cast<double>(expected[i]) - mean, 2);
    worst = std::max(worst, std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i])));
  }
  return worst / std::sqrt(square / static_cast<double>(expected.size()));
}

// Every row of the CPU's within 2e-2 of the spread of ref's (which may have more), but for those where ref's choice of
// experts is no clearer than 1 %: the cache's rounding can make another one there. Returns how many these are.
size_t judge(const LogitTable& found, const LogitTable& expected, const std::vector<double>& gaps) {
  size_t unclear = 0;
  double worst = 0;
  EXPECT_FALSE(found.empty());
  for (size_t p = 0; p < found.size(); p++) {
    if (gaps[p] < 1e-2) {
      unclear++;
      continue;
    }
    const double distance = distance_of_spread(found[p], expected[p]);
    EXPECT_LT(distance, 2e-2) << "position " << p;
    worst = std::max(worst, distance);
  }
  std::printf("%.1e of the spread at most in %zu rows, %zu not judged\n", worst, found.size(), unclear);
  return unclear;
}

// With an f32 cache over the text and its continuation. With f16 over the text: what that rounding alone costs is the
// same for F32 files (up to 1.7e-2 on gemma4-a, whose attention does not scale its logits down).
TEST(Reencoded, CpuAgreesWithRefOnQ8_0) {
  const TempFolder folder;
  const std::string path = folder / "model.gguf";
  for (const Reference& r : all_references()) {
    const auto text = r.values["ids"].get<std::vector<int32_t>>();
    const auto more = r.values["greedy16"].get<std::vector<int32_t>>();
    std::vector<int32_t> longer = text;
    longer.insert(longer.end(), more.begin(), more.end());
    reencode(r.path, path, Type::Q8_0);
    const auto context = static_cast<uint32_t>(longer.size());  // some models rotate by it
    const LogitTable expected = logits_of(*open(path, {.device = "ref", .context = context}), longer);
    const std::vector<double> gaps = choice_gaps(path, {}, context, longer);
    for (const KvType kv : {KvType::kF32, KvType::kF16}) {
      SCOPED_TRACE(r.name + " " + std::string(kv_type_name(kv)));
      std::printf("%s, %s cache: ", r.name.c_str(), std::string(kv_type_name(kv)).c_str());
      const auto& ids = kv == KvType::kF32 ? longer : text;
      const auto engine = open(path, {.context = context, .kv_type = kv});
      const size_t unclear = judge(logits_of(*engine, ids), expected, gaps);
      EXPECT_TRUE(r.experts ? unclear < ids.size() / 2 : unclear == 0);
    }
  }
}

// Not pooled, a row for each token.
LogitTable embedded_rows(const std::string& path, const Setting& setting, const ModelPurpose& purpose,
                         const std::vector<int32_t>& ids) {
  const auto engine = open(path, setting, purpose);
  const std::vector<std::vector<int32_t>> texts{ids};
  const auto found = embed(*engine, texts);
  EXPECT_TRUE(found.has_value()) << (found ? "" : found.error().message);
  LogitTable rows;
  for (uint32_t i = 0; found && i < found->front().rows; i++) {
    const std::span<const float> row = found->front().row(i);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

TEST(Reencoded, EmbeddingsOnTheCpuAgreeWithRefOnQ8_0) {
  const TempFolder folder;
  const std::string path = folder / "model.gguf";
  const ModelPurpose purpose{.embeddings = true, .pooling = Pooling::kNone, .normalize = false};
  for (const Reference& r : references_in(source_dir() + "/tests/runtime/fixtures/embeddings")) {
    reencode(r.path, path, Type::Q8_0);
    const auto ids = r.values["texts"][1].get<std::vector<int32_t>>();
    const LogitTable expected = embedded_rows(path, {.device = "ref"}, purpose, ids);
    const std::vector<double> gaps = choice_gaps(path, purpose, 0, ids);
    for (const KvType kv : {KvType::kF32, KvType::kF16}) {
      SCOPED_TRACE(r.name + " " + std::string(kv_type_name(kv)));
      std::printf("%s, %s cache: ", r.name.c_str(), std::string(kv_type_name(kv)).c_str());
      judge(embedded_rows(path, {.kv_type = kv}, purpose, ids), expected, gaps);
    }
  }
}

}  // namespace
}  // namespace brass
