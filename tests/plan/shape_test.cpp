// Published models by their sizes alone: what a plan of them reads.
#include "model/shape.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "gguf/synth.h"
#include "model/model.h"
#include "model/shape_json.h"
#include "profiles.h"
#include "source_dir.h"
#include "temp_folder.h"

namespace brass {
namespace {

std::string shape_path(const std::string& name) {
  return source_dir() + "/tools/synth/shapes/" + name + ".json";
}

Shaped shaped(const std::string& name, std::string_view mix) {
  const auto spec = read_shape(shape_path(name));
  EXPECT_TRUE(spec.has_value()) << spec.error().message;
  auto model = describe_shape(*spec, mix);
  EXPECT_TRUE(model.has_value()) << model.error().message;
  return std::move(*model);
}

Cost decode_cost(const std::string& name, std::string_view mix, uint64_t depth) {
  const auto plan = compile(shaped(name, mix).graph, {1, 1}, fused_profile());
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return plan_cost(**plan, {1, 1, depth});
}

// The figures of the design notes, in MB: weights and recurrent state of a decoded token.
TEST(Shape, BytesOfADecodedToken) {
  const Cost hybrid = decode_cost("qwen3.5-9b", "Q4_K_M", 0);
  EXPECT_NEAR(static_cast<double>(hybrid.weight_bytes + hybrid.state_bytes) / 1e6, 5156, 0.01 * 5156);
  const Cost dense = decode_cost("qwen3-8b", "Q4_K_M", 0);
  EXPECT_NEAR(static_cast<double>(dense.weight_bytes) / 1e6, 4672, 0.01 * 4672);
}

// Keys and values in f16: 32 KiB a cached token of the hybrid, 147.5 kB of the dense one.
TEST(Shape, BytesOfACachedToken) {
  for (const auto& [name, bytes] : {std::pair{"qwen3.5-9b", 32768u}, std::pair{"qwen3-8b", 147456u}}) {
    const uint64_t none = decode_cost(name, "Q4_K_M", 0).kv_read,
                   some = decode_cost(name, "Q4_K_M", 1000).kv_read;
    EXPECT_EQ(some - none, 1000u * bytes) << name;
  }
}

TEST(Shape, EveryPublishedShapeHasAPlan) {
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(shape_path("x")).parent_path())) {
    const std::string name = entry.path().stem().string();
    for (const std::string_view mix : {"Q4_K_M", "IQ3_M", "Q8_0", "MXFP4_MOE"}) {
      const Shaped model = shaped(name, mix);
      EXPECT_TRUE(compile(model.graph, {1, 1}, fused_profile()).has_value()) << name << ' ' << mix;
      EXPECT_TRUE(compile(model.graph, {512, 1}, fused_profile()).has_value()) << name << ' ' << mix;
    }
    count++;
  }
  EXPECT_GE(count, 11);
}

// A file of the shape, of random weights.
std::string written(const TempFolder& folder, const ShapeSpec& spec, const Shaped& model) {
  gguf::SynthSpec file{.architecture = spec.architecture, .metadata = spec.metadata};
  file.pooled = true;
  file.metadata.emplace_back("tokenizer.ggml.model", "none");
  for (const ShapedTensor& t : model.tensors)
    file.tensors.push_back({.name = t.name, .dims = t.dims, .type = t.type});
  const std::string path = folder / "shape.gguf";
  EXPECT_TRUE(gguf::synthesize(file, path).has_value());
  return path;
}

// A shape asks for exactly the tensors that a file of it has: one is written, and loads.
TEST(Shape, AFileOfItLoads) {
  const TempFolder folder;
  ShapeSpec spec{.architecture = "qwen3", .vocabulary = 300, .optional = {"output.weight"}};
  const auto number = [&](const std::string& key, uint32_t n) {
    spec.metadata.emplace_back("qwen3." + key, n);
  };
  number("block_count", 3), number("context_length", 64), number("embedding_length", 256);
  number("feed_forward_length", 512), number("attention.head_count", 4), number("attention.head_count_kv", 2);
  number("attention.key_length", 64), number("attention.value_length", 64);
  spec.metadata.emplace_back("qwen3.attention.layer_norm_rms_epsilon", 1e-6f);
  const auto model = describe_shape(spec, "Q4_K_M");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const auto loaded = load_model(written(folder, spec, *model));
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  EXPECT_EQ((*loaded)->graph->ops.size(), model->graph->ops.size());
  EXPECT_EQ((*loaded)->graph->weights.size(), model->graph->weights.size());
}

// The blocks that predict further tokens are in the file, and in the plan of a step they are not.
TEST(Shape, AFileOfItHasItsDrafts) {
  const TempFolder folder;
  auto spec = read_shape(shape_path("qwen3.5-9b-mtp"));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(decode_cost("qwen3.5-9b-mtp", "Q8_0", 9).weight_bytes,
            decode_cost("qwen3.5-9b", "Q8_0", 9).weight_bytes);
  spec->vocabulary = 512;
  for (auto& [key, value] : spec->metadata)
    for (const auto& [name, n] : {std::pair{"embedding_length", 64u},
                                  {"feed_forward_length", 96u},
                                  {"block_count", 5u},
                                  {"attention.head_count", 2u},
                                  {"attention.head_count_kv", 1u},
                                  {"ssm.group_count", 1u},
                                  {"ssm.time_step_rank", 2u},
                                  {"ssm.inner_size", 256u}})
      if (key == "qwen35." + std::string(name)) value = n;
  spec->optional = {"output.weight", "blk.4.nextn.shared_head_norm.weight"};
  const auto model = describe_shape(*spec, "Q8_0");
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const auto loaded = load_model(written(folder, *spec, *model), {.draft = true});
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_EQ((*loaded)->drafts.size(), 1u);
  const auto plan = compile((*loaded)->drafts[0], {1, 1, true}, fused_profile());
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_GT(plan_cost(**plan, {1, 1, 0}).weight_bytes, (*loaded)->file->get("output.weight").value()->bytes);
}

TEST(Shape, Errors) {
  ShapeSpec spec{.architecture = "qwen3", .vocabulary = 300};
  EXPECT_NE(describe_shape(spec, "Q4_K_M").error().message.find("block_count"), std::string::npos);
  spec.architecture = "qwen99";
  EXPECT_NE(describe_shape(spec, "Q4_K_M").error().message.find("qwen99"), std::string::npos);
  const auto good = read_shape(shape_path("qwen3-0.6b"));
  EXPECT_NE(describe_shape(*good, "Q4_K_XXL").error().message.find("Q4_K_XXL"), std::string::npos);
}

}  // namespace
}  // namespace brass
