// Programs that wait for one another inside, where else barriers would stand: the same bits, the same choices; where one waits
// in vain the step runs again with barriers, or ends in an error. Mesa's CPU driver runs one dispatch after another, so what
// is seen here is that nobody waits for what does not come, not that all wait for enough.
#include "few_rows_models.h"
#include "runtime/model_fixture.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

std::unique_ptr<Device> gpu(bool overlap, KvType kv = KvType::kF16, int64_t faulty = -1,
                            std::map<std::string, uint64_t>* dispatches = nullptr) {
  auto device = make_vulkan_device({.overlap = overlap,
                                    .poison = true,
                                    .k_type = kv,
                                    .v_type = kv,
                                    .faults = {.wait = faulty},
                                    .dispatches = dispatches});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  return std::move(*device);
}

std::unique_ptr<Engine> open_engine(const std::string& path, std::unique_ptr<Device> device,
                                    uint32_t chunk = 8) {
  auto engine = Engine::create(std::move(*load_model(path)), std::move(device),
                               {.context = 256, .sequences = 2, .chunk = chunk}, {});
  EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().message);
  return std::move(*engine);
}

// A prompt of five rows, then row by row.
LogitTable by_rows(Engine& engine, const std::vector<int32_t>& ids) {
  const SequenceId id = *engine.create_sequence();
  engine.want_logits(id, LogitRows::kAll);
  LogitTable rows;
  for (size_t n = 5; n <= ids.size(); n++) {
    EXPECT_TRUE(engine.sync(id, {ids.begin(), ids.begin() + static_cast<ptrdiff_t>(n)}).has_value());
    std::vector<LogitTable> made = run_all(engine, static_cast<size_t>(id) + 1);
    for (auto& row : made[static_cast<size_t>(id)]) rows.push_back(std::move(row));
  }
  engine.drop(id);
  return rows;
}

TEST(VulkanOverlap, ChangesNoBitOfFiles) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  std::vector<std::string> paths = {quantized_llama(folder)};
  for (const char* name : {"gptoss-a", "qwen35-a"})
    if (const auto path = shared_data(std::string("tiny/") + name + ".gguf")) paths.push_back(*path);
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    std::map<std::string, uint64_t> dispatches;
    const auto barriers = open_engine(path, gpu(false)),
               overlap = open_engine(path, gpu(true, KvType::kF16, -1, &dispatches));
    const std::vector<int32_t> ids = random_ids(*barriers, 9, 3);
    EXPECT_EQ(by_rows(*overlap, ids), by_rows(*barriers, ids));
    EXPECT_GT(dispatches["(waits)"], 0u);
  }
}

// Of a first token: all but where rows are embedded, gathered or combined, and their angles found.
TEST(VulkanOverlap, TakesTheBarriersPlaces) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto waits = [](const TinyModel& tiny) {
    std::map<std::string, uint64_t> dispatches;
    auto device = gpu(true, KvType::kF16, -1, &dispatches);
    const Caps caps = device->caps();
    Runner r(std::move(device), build_tiny(tiny), caps, {}, 4, 8, KvType::kF16);
    r.text(0, {1});
    return dispatches["(waits)"];
  };
  TinyModel model = qwen_like();
  model.layers = 2;
  const uint64_t two = waits(model);
  model.layers = 5;
  EXPECT_EQ(waits(model) - two, 3u * 6);  // inputs, attention's two programs, output, gate and up, down
}

// What the plan says before anything is taken, to the byte.
TEST(VulkanOverlap, MemoryIsPredicted) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  auto model = std::move(*load_model(path));
  auto device = gpu(true);
  const auto settled = settle(*model, {.context = 256, .sequences = 2, .chunk = 8});
  ASSERT_TRUE(settled.has_value());
  const auto plan = MemoryPlan::create(fitted_graphs(*model, settled->context), *device, *settled);
  ASSERT_TRUE(plan.has_value());
  const auto need = plan->need(*device);
  ASSERT_TRUE(need.has_value());
  const auto engine = open_engine(path, std::move(device));
  EXPECT_EQ(engine->device().memory_taken(), need->total());
  const SequenceId id = *engine->create_sequence();
  ASSERT_TRUE(engine->sync(id, random_ids(*engine, 9, 3)).has_value());
  while (engine->has_work()) ASSERT_TRUE(engine->step().has_value());
  EXPECT_EQ(engine->device().memory_taken(), need->total()) << "after steps of eight rows and of one";
}

std::string said(const std::function<void()>& run) {
  testing::internal::CaptureStderr();
  run();
  return testing::internal::GetCapturedStderr();
}

// Pages alone: the step is computed again, once; it is said, once; what follows goes by barriers.
TEST(VulkanOverlap, WhoWaitsInVainIsRunAgain) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const auto barriers = open_engine(path, gpu(false));
  const std::vector<int32_t> ids = random_ids(*barriers, 9, 3);
  const LogitTable expected = by_rows(*barriers, ids);
  for (const int64_t which : {0, 7}) {
    const auto faulty = open_engine(path, gpu(true, KvType::kF16, which));
    LogitTable found;
    const std::string text = said([&] { found = by_rows(*faulty, ids); });
    EXPECT_EQ(found, expected);
    EXPECT_EQ(text.find("brass: "), 0u) << text;
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  }
}

// A step that was begun behind it computed with what it made, and is run again, too.
TEST(VulkanOverlap, StepsAheadAreRunAgain) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  std::vector<int32_t> chosen[2];
  for (const bool overlap : {false, true}) {
    const auto engine = open_engine(path, gpu(overlap, KvType::kF16, 5), 64);
    const std::vector<int32_t> prompt = random_ids(*engine, 12, 3);  // a step of many rows
    const SequenceId id = *engine->create_sequence();
    engine->want_logits(id, LogitRows::kChoice);
    engine->expect_choices(id, 8);
    const std::string text = said([&] {
      ASSERT_TRUE(engine->sync(id, prompt).has_value());
      for (int i = 0; i < 8; i++) {
        const auto made = engine->step();
        ASSERT_TRUE(made.has_value()) << made.error().message;
        if (made->empty()) continue;
        chosen[overlap].push_back(*engine->choice((*made)[0].first_row));
        ASSERT_TRUE(engine->append(id, chosen[overlap].back()).has_value());
      }
    });
    EXPECT_EQ(std::ranges::count(text, '\n'), overlap ? 1 : 0) << text;
    EXPECT_GT(engine->steps_ahead(), 0u);
  }
  EXPECT_EQ(chosen[1], chosen[0]);
  EXPECT_FALSE(chosen[0].empty());
}

// A state that the step has overwritten cannot be read again.
TEST(VulkanOverlap, StatesThatAreGoneAreAnError) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const auto path = shared_data("tiny/qwen35-a.gguf");
  if (!path) GTEST_SKIP() << "no tiny/qwen35-a.gguf";
  const auto engine = open_engine(*path, gpu(true, KvType::kF16, 3), 64);
  const std::vector<int32_t> ids = random_ids(*engine, 12, 3);  // a step of many rows
  const SequenceId id = *engine->create_sequence();
  ASSERT_TRUE(engine->sync(id, ids).has_value());
  Result<std::span<const StepRows>> made = std::span<const StepRows>();
  said([&] {
    ASSERT_TRUE(engine->step().has_value());
    ASSERT_TRUE(engine->append(id, 1).has_value());
    made = engine->step();  // its state stays where it is
  });
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("waited in vain"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace brass
