// The memory of a Vulkan device: what a model takes is known to the byte before anything is allocated; what does not fit is
// refused with what would; a device that has no more, or is lost, ends in an error.
#include "backend/vulkan/device.h"
#include "runtime/model_fixture.h"
#include "runtime/reencoded.h"
#include "source_dir.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

constexpr EngineOptions kOptions{.context = 256, .sequences = 2, .chunk = 48};

Result<std::unique_ptr<Device>> gpu(KvType kv, uint64_t limit = 0, const VulkanFaults& faults = {},
                                    Prompts prompts = Prompts::kAutomatic) {
  return make_vulkan_device(
      {.memory_limit = limit, .prompts = prompts, .k_type = kv, .v_type = kv, .faults = faults});
}

EngineOptions options_of(KvType kv, uint32_t context = 256) {
  EngineOptions options = kOptions;
  options.k_type = options.v_type = kv;
  options.context = context;
  return options;
}

MemoryPlan plan_of(const Model& model, Device& device, const EngineOptions& options) {
  const auto settled = settle(model, options);
  EXPECT_TRUE(settled.has_value());
  auto plan = MemoryPlan::create(fitted_graphs(model, settled->context), device, *settled);
  EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().message);
  return std::move(*plan);
}

// Full texts in both sequences: prompts in chunks, then token by token; the last ones of both together, with what the device
// chooses of them.
void fill(Engine& engine) {
  for (uint64_t i = 0; i < kOptions.sequences; i++) {
    const SequenceId id = *engine.create_sequence();
    std::vector<int32_t> ids = random_ids(engine, kOptions.context, 3 + i);
    const std::vector<int32_t> last(ids.end() - 5, ids.end() - 2);
    ids.resize(ids.size() - 5);
    ASSERT_TRUE(engine.sync(id, ids).has_value());
    while (engine.has_work()) ASSERT_TRUE(engine.step().has_value());
    for (const int32_t token : last) {
      ASSERT_TRUE(engine.append(id, token).has_value());
      ASSERT_TRUE(engine.step().has_value());
    }
  }
  for (const LogitRows want : {LogitRows::kChoice, LogitRows::kCandidates}) {
    for (uint32_t i = 0; i < kOptions.sequences; i++) {
      const auto id = static_cast<SequenceId>(i);
      engine.want_logits(id, want);
      ASSERT_TRUE(engine.append(id, 1).has_value());
    }
    const auto made = engine.step();
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->size(), kOptions.sequences);
    EXPECT_EQ(engine.candidates(0).has_value(), want == LogitRows::kCandidates);
  }
}

void expect_predicted(const std::string& path, KvType kv, Prompts prompts) {
  SCOPED_TRACE(path);
  auto model = std::move(*load_model(path));
  auto device = std::move(*gpu(kv, 0, {}, prompts));
  const auto need = plan_of(*model, *device, options_of(kv)).need(*device);
  ASSERT_TRUE(need.has_value()) << need.error().message;
  EXPECT_GE(need->parts[0].bytes, model->file->total_bytes() / 2);
  auto engine = Engine::create(std::move(model), std::move(device), options_of(kv), {});
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  EXPECT_EQ((*engine)->device().memory_taken(), need->total());
  fill(**engine);
  EXPECT_EQ((*engine)->device().memory_taken(), need->total()) << "after full texts";
}

TEST(VulkanMemory, WhatIsPredictedIsWhatIsTaken) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  std::vector<std::string> paths = {quantized_llama(folder)};
  for (const char* name : {"gptoss-a", "deepseekv3-a", "qwen35-a", "qwen2moe-a"})
    if (const auto path = shared_data(std::string("tiny/") + name + ".gguf")) paths.push_back(*path);
  KvType kv = KvType::kF16;
  for (const std::string& path : paths) {
    kv = kv == KvType::kF16 ? KvType::kInt8 : KvType::kF16;
    expect_predicted(path, kv, Prompts::kAutomatic);
  }
}

TEST(VulkanMemory, OfPackedDotProducts) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = folder / "experts.gguf";
  reencode(source_dir() + "/tests/runtime/fixtures/ernie45moe-b.gguf", path, Type::Q8_0);
  expect_predicted(path, KvType::kF16, Prompts::kDots);
  const auto scratch = [&](Prompts prompts) {
    const auto model = std::move(*load_model(path));
    const auto device = std::move(*gpu(KvType::kF16, 0, {}, prompts));
    return plan_of(*model, *device, options_of(KvType::kF16)).need(*device)->parts[2].bytes;
  };
  EXPECT_GT(scratch(Prompts::kDots), scratch(Prompts::kPlain));
}

TEST(VulkanMemory, WhatDoesNotFitIsRefusedWithWhatWould) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const auto create = [&](KvType kv, uint64_t limit, uint32_t context) {
    return Engine::create(std::move(*load_model(path)), std::move(*gpu(kv, limit)), options_of(kv, context),
                          {});
  };
  const auto needed = [&](KvType kv, uint32_t context) {
    const auto model = std::move(*load_model(path));
    const auto device = std::move(*gpu(kv));
    return plan_of(*model, *device, options_of(kv, context)).need(*device)->total();
  };
  const uint64_t whole = needed(KvType::kF16, 2048);
  EXPECT_TRUE(create(KvType::kF16, whole, 2048).has_value());

  const auto refused = create(KvType::kF16, whole - 1, 2048);
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error().no_room);
  EXPECT_FALSE(refused.error().wrong_use);
  EXPECT_NE(refused.error().message.find(path), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("a context of 2048"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().hint.find("--kv-type int8 with the whole context"), std::string::npos)
      << refused.error().hint;

  // Room for part of it: the context that is offered fits, one page more does not.
  for (const KvType kv : {KvType::kF16, KvType::kInt8}) {
    const uint64_t limit = needed(KvType::kInt8, 512) + 1000;
    const auto model = std::move(*load_model(path));
    const auto device = std::move(*gpu(KvType::kF16, limit));
    const auto context =
        plan_of(*model, *device, options_of(KvType::kF16, 2048)).largest_context(*device, kv, kv, 2048);
    ASSERT_TRUE(context.has_value());
    EXPECT_GT(*context, 0u);
    EXPECT_TRUE(create(kv, limit, *context).has_value());
    EXPECT_FALSE(create(kv, limit, *context + 64).has_value());
    if (kv == KvType::kF16) {
      EXPECT_NE(create(kv, limit, 2048).error().hint.find(fmt::format("--context {}", *context)),
                std::string::npos);
    }
  }
  // No more than the device takes for itself: no model fits. Less than that: no device.
  const uint64_t own = (*gpu(KvType::kF16))->memory_taken();
  EXPECT_FALSE(create(KvType::kF16, own + 4096, 2048).has_value());
  const auto device = gpu(KvType::kF16, own - 1);
  ASSERT_FALSE(device.has_value());
  EXPECT_FALSE(device.error().hint.empty());
}

// Whatever fails first, an error comes of it, and no tokens.
TEST(VulkanMemory, FailedAllocationsAreErrors) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  bool worked = false;
  for (int64_t n = 0; n < 40 && !worked; n++) {
    auto device = gpu(KvType::kF16, 0, {.allocation = n});
    Error error;
    if (!device) {
      error = device.error();
    } else {
      auto engine =
          Engine::create(std::move(*load_model(path)), std::move(*device), options_of(KvType::kF16), {});
      worked = engine.has_value();
      if (worked) fill(**engine);  // allocates nothing
      if (!engine) error = engine.error();
    }
    if (worked) {
      EXPECT_GT(n, 3);
    } else {
      EXPECT_NE(error.message.find("VK_ERROR_OUT_OF_DEVICE_MEMORY"), std::string::npos) << error.message;
      EXPECT_FALSE(error.hint.empty());
    }
  }
  EXPECT_TRUE(worked);
}

TEST(VulkanMemory, ALostDeviceIsAnErrorFromThenOn) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  const auto lost = [](const Error& error) {
    EXPECT_NE(error.message.find("VK_ERROR_DEVICE_LOST"), std::string::npos) << error.message;
    EXPECT_NE(error.hint.find("--device cpu"), std::string::npos) << error.hint;
  };
  bool in_a_step = false;
  for (const int64_t n : {0, 1, 3, 10, 30, 50, 60, 70, 80}) {
    auto device = gpu(KvType::kF16, 0, {.submission = n});
    if (!device) {
      lost(device.error());
      continue;
    }
    auto engine =
        Engine::create(std::move(*load_model(path)), std::move(*device), options_of(KvType::kF16), {});
    if (!engine) {
      lost(engine.error());
      continue;
    }
    const SequenceId id = *(*engine)->create_sequence();
    ASSERT_TRUE((*engine)->sync(id, random_ids(**engine, 10, 3)).has_value());
    auto step = (*engine)->step();
    for (int i = 0; i < 100 && step; i++) {
      ASSERT_TRUE((*engine)->append(id, 5).has_value());
      step = (*engine)->step();
    }
    ASSERT_FALSE(step.has_value());
    lost(step.error());
    in_a_step = true;
    const auto again = (*engine)->step();
    ASSERT_FALSE(again.has_value());
    lost(again.error());
  }
  EXPECT_TRUE(in_a_step);
}

}  // namespace
}  // namespace brass
