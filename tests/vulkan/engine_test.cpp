// What the engine's contract asks of a device, on Vulkan: neighbours in a batch, the cache's history and barriers change no
// bit, nor does the cut of a text into steps, among steps of up to eight rows and among longer ones.
#include "runtime/model_fixture.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

std::unique_ptr<Engine> open_on_gpu(const std::string& path, uint32_t chunk, uint32_t sequences, KvType kv,
                                    bool barriers = false, uint64_t page_buffer_bytes = 0) {
  auto device = make_vulkan_device(
      {.barrier_everywhere = barriers, .page_buffer_bytes = page_buffer_bytes, .k_type = kv, .v_type = kv});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  auto engine = Engine::create(
      std::move(*load_model(path)), std::move(*device),
      {.context = 256, .sequences = sequences, .chunk = chunk, .k_type = kv, .v_type = kv}, {});
  EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().message);
  return std::move(*engine);
}

std::vector<std::string> models(const TempFolder& folder) {
  std::vector<std::string> paths = {quantized_llama(folder)};
  for (const char* name : {"gptoss-a", "gemma4-a", "deepseekv3-a", "qwen35-a", "lfm2-a", "mamba2-a"})
    if (const auto path = shared_data(std::string("tiny/") + name + ".gguf")) paths.push_back(*path);
  return paths;
}

TEST(VulkanEngine, CutsAndBarriersChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  KvType kv = KvType::kF16;
  for (const std::string& path : models(folder)) {
    SCOPED_TRACE(path);
    kv = kv == KvType::kF16 ? KvType::kInt8 : KvType::kF16;
    const auto whole = open_on_gpu(path, 512, 1, kv);
    const std::vector<int32_t> ids = random_ids(*whole, 70, 3);  // over the end of a page
    const LogitTable expected = logits_of(*whole, ids);
    EXPECT_EQ(logits_of(*open_on_gpu(path, 14, 1, kv), ids), expected);
    EXPECT_EQ(logits_of(*open_on_gpu(path, 512, 1, kv, true), ids), expected);
    const std::vector<int32_t> some(ids.begin(), ids.begin() + 16);
    EXPECT_EQ(logits_of(*open_on_gpu(path, 1, 1, kv), some), logits_of(*open_on_gpu(path, 8, 1, kv), some));
  }
}

// A buffer for each page: what programs and copies find does not depend on where a page lies.
TEST(VulkanEngine, BuffersOfPagesChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  for (const std::string& path : models(folder)) {
    SCOPED_TRACE(path);
    const auto one = open_on_gpu(path, 32, 2, KvType::kF16),
               many = open_on_gpu(path, 32, 2, KvType::kF16, false, 1);
    const std::vector<int32_t> ids = random_ids(*one, 70, 3);
    EXPECT_EQ(logits_of(*many, ids), logits_of(*one, ids));
    // A fork writes to a copy of the page that both have.
    LogitTable rows[2];
    for (const bool several : {false, true}) {
      Engine& engine = several ? *many : *one;
      const SequenceId id = *engine.create_sequence();
      ASSERT_TRUE(engine.sync(id, ids).has_value());
      while (engine.has_work()) ASSERT_TRUE(engine.step().has_value());
      const SequenceId other = *engine.fork(id);
      ASSERT_TRUE(engine.append(other, ids[0]).has_value());
      rows[several] = run_all(engine, static_cast<size_t>(other) + 1)[static_cast<size_t>(other)];
      ASSERT_FALSE(rows[several].empty());
    }
    EXPECT_EQ(rows[1], rows[0]);
  }
}

TEST(VulkanEngine, NeighboursChangeNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  KvType kv = KvType::kF32;
  for (const std::string& path : models(folder)) {
    SCOPED_TRACE(path);
    const auto engine = open_on_gpu(path, 64, 3, kv);
    kv = kv == KvType::kF32 ? KvType::kInt8 : KvType::kF32;
    std::vector<std::vector<int32_t>> texts;
    std::vector<LogitTable> alone;
    for (uint64_t i = 0; i < 3; i++) {
      texts.push_back(random_ids(*engine, static_cast<uint32_t>(9 + 8 * i), 5 + i));
      alone.push_back(logits_of(*engine, texts.back()));
    }
    for (const auto& text : texts) {
      const SequenceId id = *engine->create_sequence();
      engine->want_logits(id, LogitRows::kAll);
      ASSERT_TRUE(engine->sync(id, text).has_value());
    }
    const std::vector<LogitTable> together = run_all(*engine, 3);
    for (size_t i = 0; i < 3; i++) EXPECT_EQ(together[i], alone[i]) << "sequence " << i;
  }
}

// A conversation that goes on, and one that goes another way behind a shared beginning, equal texts read anew.
TEST(VulkanEngine, HistoryChangesNoBit) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  KvType kv = KvType::kInt8;
  for (const std::string& path : models(folder)) {
    SCOPED_TRACE(path);
    const auto engine = open_on_gpu(path, 32, 2, kv);
    kv = kv == KvType::kF16 ? KvType::kInt8 : KvType::kF16;
    std::vector<int32_t> first = random_ids(*engine, 40, 3), second = first;
    second.resize(30);
    for (const int32_t id : random_ids(*engine, 12, 9)) second.push_back(id);
    const LogitTable expected = logits_of(*engine, second);
    const SequenceId id = *engine->create_sequence();
    ASSERT_TRUE(engine->sync(id, first).has_value());
    run_all(*engine, static_cast<size_t>(id) + 1);
    ASSERT_TRUE(engine->sync(id, second).has_value());
    engine->want_logits(id, LogitRows::kAll);
    const LogitTable rows = run_all(*engine, static_cast<size_t>(id) + 1)[static_cast<size_t>(id)];
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows.back(), expected.back());
  }
}

TEST(VulkanDevice, RefusesByName) {
  if (!vulkan_is_there()) GTEST_SKIP();
  EXPECT_NE(make_vulkan_device({.index = 99}).error().message.find("Vulkan device"), std::string::npos);
}

}  // namespace
}  // namespace brass
