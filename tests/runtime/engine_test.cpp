// Sequences: what is reused, what is refused, what a window keeps; and the CPU against the reference.
#include <cmath>

#include "model_fixture.h"

namespace brass {
namespace {

TEST(Engine, SyncSaysWhatItReuses) {
  const TempFolder folder;
  const auto engine = open(quantized_llama(folder), {});
  const SequenceId id = *engine->create_sequence();
  std::vector<int32_t> ids = random_ids(*engine, 50, 1);
  EXPECT_EQ(engine->sync(id, ids)->to_process, 50u);
  run_all(*engine, 1);
  SyncInfo info = *engine->sync(id, ids);  // the same again: the last token's logits must be made
  EXPECT_EQ(info.reused, 49u);
  EXPECT_EQ(info.to_process, 1u);
  EXPECT_EQ(info.cause, "");
  run_all(*engine, 1);
  ids[20] = (ids[20] + 1) % 400;
  info = *engine->sync(id, ids);
  EXPECT_EQ(info.reused, 20u);
  EXPECT_EQ(info.first_difference, 20u);
  EXPECT_EQ(info.cause, "text differs");
}

// Forks that are not counted as full share their pages with one that is, and have two of their own.
TEST(Engine, ForksNeedFewPages) {
  const TempFolder folder;
  const EngineOptions options{.context = 1024, .sequences = 5, .full_sequences = 1};
  const auto engine = std::move(*Engine::create(std::move(*load_model(quantized_llama(folder))),
                                                std::move(*make_cpu_device({.threads = 2})), options, {}));
  const uint32_t pages = 1024 / kPageTokens;
  EXPECT_EQ(pool_specs(*engine->model().graph, options)[0].pages, pages + 4 * 2);
  EXPECT_EQ(pool_specs(*engine->model().graph, {.context = 1024, .sequences = 5})[0].pages, pages * 5);
  const SequenceId whole = *engine->create_sequence();
  const std::vector<int32_t> ids = random_ids(*engine, 1024, 4);
  std::vector<SequenceId> forks;
  for (const uint32_t depth : {128u, 320u, 512u, 640u}) {
    ASSERT_TRUE(engine->sync(whole, std::span(ids).first(depth)).has_value());
    run_all(*engine, 5);
    forks.push_back(*engine->fork(whole));
  }
  ASSERT_TRUE(engine->sync(whole, ids).has_value());
  run_all(*engine, 5);
  for (const SequenceId fork : forks)  // 128 tokens behind a whole page: two pages
    for (int i = 0; i < 128; i++) {
      ASSERT_TRUE(engine->append(fork, 7).has_value());
      run_all(*engine, 5);
    }
}

TEST(Engine, RefusesWhatCannotBe) {
  const TempFolder folder;
  const auto engine = open(quantized_llama(folder), {.context = 100});
  const SequenceId id = *engine->create_sequence();
  EXPECT_FALSE(engine->create_sequence().has_value());
  EXPECT_FALSE(engine->sync(id, {}).has_value());
  const auto beyond = engine->sync(id, random_ids(*engine, 101, 1));
  ASSERT_FALSE(beyond.has_value());
  EXPECT_NE(beyond.error().message.find("maximum context length is 100"), std::string::npos);
  const auto unknown = engine->sync(id, std::vector<int32_t>{1, 400});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("400"), std::string::npos);
  ASSERT_TRUE(engine->sync(id, random_ids(*engine, 100, 1)).has_value());
  run_all(*engine, 1);
  EXPECT_FALSE(engine->append(id, 1).has_value());
}

// A window of 16 with steps of 8 needs two pages of 64 positions, however long the text.
TEST(Engine, WindowsGiveTheirPagesBack) {
  const auto path = shared_data("tiny/gemma3-a.gguf");
  if (!path) return;
  const auto engine = open(*path, {.chunk = 8});
  const auto expected = logits_of(*open(*path, {.device = "ref"}), random_ids(*engine, 400, 2)).back();
  const auto rows =
      logits_of(*engine, random_ids(*engine, 400, 2));  // would run out of pages if it kept them
  EXPECT_EQ(rows.size(), 400u);
  for (size_t i = 0; i < expected.size(); i++) EXPECT_NEAR(rows.back()[i], expected[i], 0.05);
}

TEST(Engine, CutBackBehindAWindowStartsAgain) {
  const auto path = shared_data("tiny/gemma3-a.gguf");
  if (!path) return;
  const auto engine = open(*path, {.chunk = 8});
  const SequenceId id = *engine->create_sequence();
  std::vector<int32_t> ids = random_ids(*engine, 300, 2);
  ASSERT_TRUE(engine->sync(id, ids).has_value());
  run_all(*engine, 1);
  ids[100] = (ids[100] + 1) % 300;
  const SyncInfo info = *engine->sync(id, ids);
  EXPECT_EQ(info.reused, 0u);
  EXPECT_EQ(info.cause, "window passed");
  run_all(*engine, 1);
}

// Every tier within 2e-2 (f16 cache: 5e-2) of the logits' spread of ref on the same file; argmax equal where the gap is clear.
TEST(Engine, CpuAgreesWithReference) {
  const TempFolder folder;
  for (const std::string& path : test_models(folder)) {
    const auto ref = open(path, {.device = "ref"});
    const std::vector<int32_t> ids = random_ids(*ref, 80, 5);
    const LogitTable expected = logits_of(*ref, ids);
    for (const KvType kv : {KvType::kF32, KvType::kF16}) {
      SCOPED_TRACE(path + " " + std::string(kv_type_name(kv)));
      const LogitTable rows = logits_of(*open(path, {.kv_type = kv}), ids);
      for (size_t p = 0; p < ids.size(); p++) {
        double mean = 0, spread = 0, worst = 0;
        for (const float x : expected[p]) mean += x;
        mean /= static_cast<double>(expected[p].size());
        for (size_t i = 0; i < expected[p].size(); i++) {
          spread += std::pow(expected[p][i] - mean, 2);
          worst = std::max(worst, std::abs(static_cast<double>(rows[p][i]) - expected[p][i]));
        }
        spread = std::sqrt(spread / static_cast<double>(expected[p].size()));
        // int8 activations cost up to 1 % a product, which random weights amplify from layer to layer;
        // weights that stay f32 cost the KV cache's rounding only.
        EXPECT_LT(worst / spread, path.find("quantized") != std::string::npos ? 0.3
                                  : kv == KvType::kF32                        ? 2e-2
                                                                              : 5e-2)
            << "position " << p;
      }
    }
  }
}

}  // namespace
}  // namespace brass
