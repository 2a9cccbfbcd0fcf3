// Tiny random models against transformers' float32 on a Vulkan device: every architecture.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backend/vulkan/device.h"
#include "runtime/draft_fixture.h"
#include "runtime/embedding.h"
#include "shared_data.h"
#include "source_dir.h"
#include "vulkan_fixture.h"

namespace brass {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

std::vector<fs::path> reference_files() {
  std::vector<fs::path> files;
  const auto collect = [&](const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".json" &&
          fs::exists(fs::path(entry.path()).replace_extension(".gguf")))
        files.push_back(entry.path());
  };
  collect(fs::path(source_dir()) / "tests/runtime/fixtures");
  if (const auto tiny = shared_data("tiny")) collect(*tiny);
  std::ranges::sort(files);
  return files;
}

void check(const fs::path& file, KvType kv, uint32_t chunk, double bound) {
  SCOPED_TRACE(file.stem().string());
  std::ifstream in(file);
  const Json values = Json::parse(in);
  auto model = load_model(fs::path(file).replace_extension(".gguf"));
  if (!model) return;  // a variant that is refused by name: test_runtime judges that
  const auto ids = values["ids"].get<std::vector<int32_t>>();
  auto device = make_vulkan_device({.k_type = kv, .v_type = kv});
  ASSERT_TRUE(device.has_value()) << device.error().message;
  EngineOptions options;
  options.context = static_cast<uint32_t>(ids.size() + 16);
  options.k_type = options.v_type = kv;
  options.chunk = chunk;
  auto engine = Engine::create(std::move(*model), std::move(*device), options, {});
  ASSERT_TRUE(engine.has_value()) << engine.error().message;
  const double spread = values["logit_std_last"].get<double>();
  const LogitTable rows = logits_of(**engine, ids);
  EXPECT_LT(worst_difference(rows.front(), values["logits_first"]) / spread, bound);
  EXPECT_LT(worst_difference(rows.back(), values["logits_last"]) / spread, bound);
}

TEST(VulkanModels, EmbeddingsAgreeWithTransformers) {
  if (!vulkan_is_there()) GTEST_SKIP();
  const fs::path folder = fs::path(source_dir()) / "tests/runtime/fixtures/embeddings";
  size_t compared = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    SCOPED_TRACE(entry.path().stem().string());
    std::ifstream in(entry.path());
    const Json values = Json::parse(in);
    const auto texts = values["texts"].get<std::vector<std::vector<int32_t>>>();
    for (const Pooling pooling : {Pooling::kMean, Pooling::kFirst, Pooling::kLast}) {
      auto model = load_model(fs::path(entry.path()).replace_extension(".gguf"),
                              {.embeddings = true, .pooling = pooling, .normalize = false});
      ASSERT_TRUE(model.has_value()) << model.error().message;
      auto device = make_vulkan_device({.k_type = KvType::kF32, .v_type = KvType::kF32});
      ASSERT_TRUE(device.has_value()) << device.error().message;
      auto engine = Engine::create(std::move(*model), std::move(*device),
                                   {.sequences = 3, .k_type = KvType::kF32, .v_type = KvType::kF32}, {});
      ASSERT_TRUE(engine.has_value()) << engine.error().message;
      const auto found = embed(**engine, texts);
      ASSERT_TRUE(found.has_value()) << found.error().message;
      for (size_t i = 0; i < texts.size(); i++, compared++)
        EXPECT_LT(worst_difference((*found)[i].row(0), values[std::string(pooling_name(pooling))][i]) /
                      values["std"].get<double>(),
                  1e-3)
            << pooling_name(pooling) << " of text " << i;
    }
  }
  EXPECT_GT(compared, 0u);
}

TEST(VulkanModels, DraftsAgreeWithTheFormulas) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const DraftReference& r : draft_references()) {
    SCOPED_TRACE(r.name);
    auto model = load_model(r.path, {.draft = true});
    ASSERT_TRUE(model.has_value()) << model.error().message;
    auto device = make_vulkan_device({.k_type = KvType::kF32, .v_type = KvType::kF32});
    ASSERT_TRUE(device.has_value()) << device.error().message;
    auto engine = Engine::create(std::move(*model), std::move(*device),
                                 {.k_type = KvType::kF32, .v_type = KvType::kF32}, {});
    ASSERT_TRUE(engine.has_value()) << engine.error().message;
    expect_reference(r, **engine, 1e-3);
  }
}

TEST(VulkanModels, AgreeWithTransformers) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const fs::path& file : reference_files()) check(file, KvType::kF32, 512, 1e-3);
}

// In steps of few rows, which other programs compute.
TEST(VulkanModels, AgreeWithTransformersInSmallSteps) {
  if (!vulkan_is_there()) GTEST_SKIP();
  for (const fs::path& file : reference_files()) check(file, KvType::kF32, 7, 1e-3);
}

}  // namespace
}  // namespace brass
