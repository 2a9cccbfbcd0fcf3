// A GPU and the CPU share a model: what comes out is what one device gives, and the GPU takes what was predicted.
#include "backend/split/split.h"

#include <algorithm>
#include <cmath>

#include "../runtime/model_fixture.h"
#include "runtime/memory_plan.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

constexpr EngineOptions kOptions{.context = 256, .chunk = 48};

std::unique_ptr<Device> gpu_with_cpu(const Placement& placement, KvType kv = KvType::kF16) {
  Result<std::unique_ptr<Device>> gpu = make_vulkan_device({.k_type = kv, .v_type = kv}),
                                  cpu = make_cpu_device({.threads = 2, .k_type = kv, .v_type = kv});
  EXPECT_TRUE(gpu.has_value() && cpu.has_value());
  return make_split_device(std::move(*gpu), std::move(*cpu), placement);
}

// Of the spread of the wanted logits.
double largest_difference(const LogitTable& found, const LogitTable& wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double most = 0, squares = 0, sum = 0;
  const std::vector<float>& last = wanted.back();
  for (const float x : last) sum += x;
  for (const float x : last) squares += std::pow(x - sum / static_cast<double>(last.size()), 2);
  for (size_t r = 0; r < std::min(found.size(), wanted.size()); r++)
    for (size_t i = 0; i < wanted[r].size(); i++)
      most = std::max(most, static_cast<double>(std::abs(found[r][i] - wanted[r][i])));
  return most / std::sqrt(squares / static_cast<double>(last.size()));
}

TEST(VulkanSplit, AgreesWithRef) {
  if (!vulkan_is_there()) GTEST_SKIP();
  std::vector<std::pair<std::string, Placement>> cases;
  for (const auto& [name, placement] :
       std::vector<std::pair<std::string, Placement>>{{"llama-a", {.first_layers = 1}},
                                                      {"gemma4-a", {.first_layers = 2}},
                                                      {"qwen35-a", {.first_layers = 2}},
                                                      {"qwen3moe-a", {.first_experts = 1000}},
                                                      {"qwen2moe-a", {.first_layers = 1, .first_experts = 1}},
                                                      {"gptoss-a", {.first_experts = 1}}})
    if (const auto path = shared_data("tiny/" + name + ".gguf")) cases.emplace_back(*path, placement);
  EngineOptions options = kOptions;
  options.k_type = options.v_type = KvType::kF32;
  for (const auto& [path, placement] : cases) {
    SCOPED_TRACE(path);
    const std::unique_ptr<Engine> ref = open(path, {.device = "ref", .kv_type = KvType::kF32});
    Result<std::unique_ptr<Engine>> shared =
        Engine::create(std::move(*load_model(path)), gpu_with_cpu(placement, KvType::kF32), options, {});
    ASSERT_TRUE(shared.has_value()) << shared.error().message;
    const std::vector<int32_t> ids = random_ids(*ref, 60, 7);
    EXPECT_LT(largest_difference(logits_of(**shared, ids), logits_of(*ref, ids)), 2e-2);
  }
}

TEST(VulkanSplit, TheGpuTakesItsShare) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const TempFolder folder;
  const std::string path = quantized_llama(folder);
  uint64_t before = UINT64_MAX;
  for (uint32_t n = 1; n <= 3; n++) {
    auto model = std::move(*load_model(path));
    std::unique_ptr<Device> device = gpu_with_cpu({.first_layers = n});
    const EngineOptions settled = *settle(*model, kOptions);
    auto plan = MemoryPlan::create(fitted_graphs(*model, settled.context), *device, settled);
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    const auto need = plan->need(*device);
    ASSERT_TRUE(need.has_value()) << need.error().message;
    EXPECT_LT(need->total(), before);
    before = need->total();
    auto engine = Engine::create(std::move(model), std::move(device), kOptions, {});
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    EXPECT_EQ((*engine)->device().memory_taken(), need->total());
    const SequenceId id = *(*engine)->create_sequence();
    ASSERT_TRUE((*engine)->sync(id, random_ids(**engine, 100, n)).has_value());
    run_all(**engine, 1);
    EXPECT_EQ((*engine)->device().memory_taken(), need->total()) << "after a text";
  }
}

}  // namespace
}  // namespace brass
