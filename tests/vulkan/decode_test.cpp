// Steps of few rows on a Vulkan device: joined operations and the number of rows change no bit, what is computed is right,
// and the programs made for it are the ones that run.
#include <cmath>

#include "backend/ref/ref.h"
#include "few_rows_models.h"
#include "plan/rules.h"
#include "profiles.h"
#include "runtime/model_fixture.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

std::unique_ptr<Device> gpu(KvType kv, std::map<std::string, uint64_t>* dispatches = nullptr) {
  auto device = make_vulkan_device({.k_type = kv, .v_type = kv, .dispatches = dispatches});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return std::move(*device);
}

Runner runner(const std::shared_ptr<const Graph>& graph, KvType kv,
              const std::function<void(Caps&)>& change = {}) {
  auto device = gpu(kv);
  Caps caps = device->caps();
  if (change) change(caps);
  return Runner(std::move(device), graph, caps, {}, 4, 8, kv);
}

// 140 tokens, over two page ends, `chunk` at a time.
Logits text_in_chunks(Runner& r, const std::vector<int32_t>& ids, size_t chunk) {
  Logits rows;
  for (size_t i = 0; i < ids.size(); i += chunk) {
    const std::vector<int32_t> some(ids.begin() + static_cast<ptrdiff_t>(i),
                                    ids.begin() + static_cast<ptrdiff_t>(std::min(i + chunk, ids.size())));
    for (auto& row : r.text(2, some, static_cast<int32_t>(i))) rows.push_back(std::move(row));
  }
  return rows;
}

// What each step of the plans for 1, 4 and 8 rows computes, and the values between.
std::vector<std::pair<std::string, std::vector<uint32_t>>> steps_of(const std::shared_ptr<const Graph>& graph,
                                                                    const Caps& caps) {
  std::vector<std::pair<std::string, std::vector<uint32_t>>> steps;
  for (const uint32_t rows : {1, 4, 8}) {
    const auto plan = compile(graph, {rows, rows}, caps);
    EXPECT_TRUE(plan.has_value());
    for (const Step& step : (*plan)->steps) steps.emplace_back(step.rule, step.ops);
    for (const Placed& placed : (*plan)->placed)
      steps.push_back({"", {static_cast<uint32_t>(placed.storage), static_cast<uint32_t>(placed.norm)}});
  }
  return steps;
}

constexpr KvType kTypes[] = {KvType::kF16, KvType::kInt8, KvType::kF32, KvType::kBF16};

TEST(VulkanDecode, NumberOfRowsChangesNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  size_t turn = 0;
  for (const auto& [name, model] : few_rows_models()) {
    SCOPED_TRACE(name);
    turn++;
    const std::vector<int32_t> ids = random_ids(70, model.vocab, 3);
    Runner r = runner(build_tiny(model), kTypes[turn % 4]);
    const Logits expected = text_in_chunks(r, ids, 8);
    for (const size_t chunk : {1, 3, 5}) {
      r.clear_memory();
      EXPECT_TRUE(same_bits(expected, text_in_chunks(r, ids, chunk))) << "chunks of " << chunk;
    }
  }
}

TEST(VulkanDecode, JoinedStepsChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  size_t turn = 0;
  for (const auto& [name, model] : few_rows_models()) {
    SCOPED_TRACE(name);
    const KvType kv = kTypes[turn++ % 4];
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(20, model.vocab, 5);
    const auto episode = [&](const std::function<void(Caps&)>& change) {
      Runner r = runner(graph, kv, change);
      Logits all = text_in_chunks(r, {ids.begin(), ids.begin() + 10}, 5);
      for (int32_t p = 10; p < 14; p++)
        for (auto& row : r.text(2, {ids[static_cast<size_t>(p)]}, p)) all.push_back(std::move(row));
      for (auto& row : r.step({{2, ids[14], 14}, {1, ids[15], 0}, {1, ids[16], 1}, {-1, 0, 0, false}}))
        all.push_back(std::move(row));
      return all;
    };
    const auto exact = [&](std::string_view without) {
      return [without](Caps& caps) {
        for (const std::string_view rule : {without, kFoldNorm, kNormLinear}) caps.rules.erase(rule);
      };
    };
    const Logits expected = episode(exact(""));
    EXPECT_TRUE(same_bits(expected, episode([](Caps& caps) { caps.rules.clear(); })));
    if (name != "qwen" && !name.ends_with("experts")) continue;
    const Caps caps = gpu(kv)->caps();
    const auto steps = [&](std::string_view without) {
      Caps changed = caps;
      exact(without)(changed);
      return steps_of(graph, changed);
    };
    const auto all = steps("");
    size_t rules = 0;
    for (const std::string_view rule : caps.rules) {
      if (steps(rule) == all) continue;  // it joins nothing in this model
      EXPECT_TRUE(same_bits(expected, episode(exact(rule)))) << "without " << rule;
      rules++;
    }
    EXPECT_GE(rules, 4u);
  }
}

// A norm's factor behind the products that read it is a matter of roundings: of values, and now and then of a code.
TEST(VulkanDecode, FoldedNormsDifferByRoundings) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const auto& [name, model] : few_rows_models()) {
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(12, model.vocab, 5);
    const auto rows = [&](const std::set<std::string_view>& without) {
      Runner r = runner(graph, KvType::kF32, [&](Caps& caps) {
        for (const std::string_view rule : without) caps.rules.erase(rule);
      });
      return text_in_chunks(r, ids, 4);
    };
    const Logits folded = rows({}), apart = rows({kFoldNorm, kNormLinear});
    double difference = 0, squares = 0;
    for (size_t t = 0; t < folded.size(); t++)
      for (size_t i = 0; i < folded[t].size(); i++) {
        difference += std::pow(static_cast<double>(folded[t][i]) - apart[t][i], 2);
        squares += std::pow(static_cast<double>(apart[t][i]), 2);
      }
    EXPECT_LT(std::sqrt(difference / squares), 0.01);
  }
}

// A step of one row has at most this many steps a layer: what is joined, is.
TEST(VulkanDecode, ALayerIsFewSteps) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto layer_steps = [](const TinyModel& model) {
    TinyModel more = model;
    more.layers = model.layers + 2;
    const std::unique_ptr<Device> device = gpu(KvType::kF16);
    const auto steps = [&](const TinyModel& m) {
      return (*compile(build_tiny(m), {1, 1}, device->caps()))->steps.size();
    };
    return static_cast<double>(steps(more) - steps(model)) / 2;
  };
  EXPECT_LE(layer_steps(plain_model()), 5);  // qkv, attention, output, gate and up, down
  EXPECT_LE(layer_steps(qwen_like()), 5);
  EXPECT_LE(layer_steps(lone_expert_model()), 6);  // qkv, attention, output, router, gate and up, down
}

TEST(VulkanDecode, AgreesWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const auto& [name, model] : few_rows_models()) {
    SCOPED_TRACE(name);
    const auto graph = build_tiny(model);
    const std::vector<int32_t> ids = random_ids(70, model.vocab, 3);
    Runner fast = runner(graph, KvType::kF32);
    Caps plain = fast.device().caps();
    plain.rules.clear();
    Runner slow(make_ref_device({}), graph, plain);
    for (const size_t chunk : {1, 6}) {
      fast.clear_memory(), slow.clear_memory();
      const Logits found = text_in_chunks(fast, ids, chunk), expected = text_in_chunks(slow, ids, chunk);
      double worst = 0, squares = 0, n = 0;
      for (size_t t = 0; t < found.size(); t++)
        for (size_t i = 0; i < found[t].size(); i++, n++) {
          worst = std::max(worst, std::abs(static_cast<double>(found[t][i]) - expected[t][i]));
          squares += static_cast<double>(expected[t][i]) * expected[t][i];
        }
      // A code that rounds the other way, once in many, moves what follows by a hundredth of a value.
      EXPECT_LT(worst / std::sqrt(squares / n), 0.1) << "chunks of " << chunk;
    }
  }
}

// The dispatches of a first token.
std::map<std::string, uint64_t> dispatches_of(const TinyModel& model) {
  std::map<std::string, uint64_t> dispatches;
  auto device = gpu(KvType::kF16, &dispatches);
  const Caps caps = device->caps();
  Runner r(std::move(device), build_tiny(model), caps, {}, 4, 8, KvType::kF16);
  r.text(0, {1});
  return dispatches;
}

TEST(VulkanDecode, ItsProgramsRun) {
  if (!vulkan_is_there()) GTEST_SKIP();
  TinyModel model = qwen_like();
  model.layers = 3;
  // q, k, output, gate with up; v; down; the tied head.
  EXPECT_EQ(dispatches_of(model), (std::map<std::string, uint64_t>{{"attend_combine", 3},
                                                                   {"attend_split", 3},
                                                                   {"elementwise", 1},
                                                                   {"embed_q8_0", 1},
                                                                   {"gemv_q4_k", 12},
                                                                   {"gemv_q6_k", 3},
                                                                   {"gemv_q8_0", 4},
                                                                   {"norm_row", 2},
                                                                   {"rope_table", 1}}));
  // q, k, v, output, gate with up and the choice of experts; down; the head. Behind the last layer rows are gathered first.
  EXPECT_EQ(dispatches_of(lone_expert_model()), (std::map<std::string, uint64_t>{{"attend_combine", 2},
                                                                                 {"attend_split", 2},
                                                                                 {"combine_row", 1},
                                                                                 {"elementwise", 1},
                                                                                 {"embed_q8_0", 1},
                                                                                 {"gemv_q5_0", 2},
                                                                                 {"gemv_q6_k", 1},
                                                                                 {"gemv_q8_0", 10},
                                                                                 {"norm_row", 2},
                                                                                 {"rope_table", 1},
                                                                                 {"router", 2}}));
}

}  // namespace
}  // namespace brass
