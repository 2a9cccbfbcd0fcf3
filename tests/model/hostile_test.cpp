// Hyper-parameters that a damaged or malicious file may hold: an error that names the key or the tensor,
// never a crash.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/device.h"
#include "backend/ref/ref.h"
#include "gguf/synth.h"
#include "model/architecture.h"
#include "model/model.h"
#include "temp_folder.h"

namespace brass {
namespace {

using gguf::MetaValue;

gguf::SynthSpec small_llama() {
  gguf::SynthSpec spec{.architecture = "llama",
                       .metadata = {{"llama.block_count", MetaValue(uint32_t{1})},
                                    {"llama.context_length", MetaValue(uint32_t{128})},
                                    {"llama.embedding_length", MetaValue(uint32_t{64})},
                                    {"llama.feed_forward_length", MetaValue(uint32_t{96})},
                                    {"llama.attention.head_count", MetaValue(uint32_t{4})},
                                    {"llama.attention.head_count_kv", MetaValue(uint32_t{2})},
                                    {"llama.attention.layer_norm_rms_epsilon", MetaValue(1e-5f)},
                                    {"tokenizer.ggml.model", MetaValue("none")}},
                       .tensors = {},
                       .seed = 3,
                       .magnitude = 0.1f};
  const auto add = [&](const char* name, std::vector<uint64_t> dims) {
    spec.tensors.push_back({name, std::move(dims), Type::F32});
  };
  add("token_embd.weight", {64, 40});
  add("output_norm.weight", {64});
  add("blk.0.attn_norm.weight", {64});
  add("blk.0.ffn_norm.weight", {64});
  add("blk.0.attn_q.weight", {64, 64});
  add("blk.0.attn_k.weight", {64, 32});
  add("blk.0.attn_v.weight", {64, 32});
  add("blk.0.attn_output.weight", {64, 64});
  add("blk.0.ffn_gate.weight", {64, 96});
  add("blk.0.ffn_up.weight", {64, 96});
  add("blk.0.ffn_down.weight", {96, 64});
  return spec;
}

void set(gguf::SynthSpec& spec, const std::string& key, MetaValue value) {
  for (auto& [name, old] : spec.metadata)
    if (name == key) {
      old = std::move(value);
      return;
    }
  spec.metadata.emplace_back(key, std::move(value));
}

// The same with 6 experts in place of the feed-forward part.
gguf::SynthSpec small_mixtral() {
  gguf::SynthSpec spec = small_llama();
  set(spec, "llama.expert_count", uint32_t{6});
  set(spec, "llama.expert_used_count", uint32_t{2});
  spec.tensors.resize(spec.tensors.size() - 3);
  const auto add = [&](const char* name, std::vector<uint64_t> dims) {
    spec.tensors.push_back({name, std::move(dims), Type::F32});
  };
  add("blk.0.ffn_gate_inp.weight", {64, 6});
  add("blk.0.ffn_gate_exps.weight", {64, 96, 6});
  add("blk.0.ffn_up_exps.weight", {64, 96, 6});
  add("blk.0.ffn_down_exps.weight", {96, 64, 6});
  return spec;
}

gguf::SynthSpec small_bert() {
  gguf::SynthSpec spec{.architecture = "bert",
                       .metadata = {{"bert.block_count", MetaValue(uint32_t{1})},
                                    {"bert.context_length", MetaValue(uint32_t{50})},
                                    {"bert.embedding_length", MetaValue(uint32_t{64})},
                                    {"bert.feed_forward_length", MetaValue(uint32_t{96})},
                                    {"bert.attention.head_count", MetaValue(uint32_t{4})},
                                    {"bert.attention.layer_norm_epsilon", MetaValue(1e-12f)},
                                    {"bert.pooling_type", MetaValue(uint32_t{2})},
                                    {"tokenizer.ggml.model", MetaValue("none")}},
                       .tensors = {},
                       .seed = 4,
                       .magnitude = 0.1f};
  const auto add = [&](const char* name, std::vector<uint64_t> dims) {
    spec.tensors.push_back({name, std::move(dims), Type::F32});
  };
  add("token_embd.weight", {64, 40});
  add("position_embd.weight", {64, 50});
  for (const char* name : {"token_embd_norm", "blk.0.attn_output_norm", "blk.0.layer_output_norm"})
    spec.tensors.push_back({std::string(name) + ".weight", {64}, Type::F32});
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"})
    spec.tensors.push_back({fmt::format("blk.0.{}.weight", name), {64, 64}, Type::F32});
  add("blk.0.ffn_up.weight", {64, 96});
  add("blk.0.ffn_down.weight", {96, 64});
  return spec;
}

std::string load_error(const gguf::SynthSpec& spec) {
  const TempFolder folder;
  const std::string path = folder / "model.gguf";
  const Result<> made = gguf::synthesize(spec, path);
  if (!made) return "not written: " + made.error().message;
  const auto model = load_model(path);
  return model ? "" : model.error().message + " | " + model.error().hint;
}

TEST(HostileModel, TheSoundOnesLoad) {
  EXPECT_EQ(load_error(small_llama()), "");
  EXPECT_EQ(load_error(small_mixtral()), "");
  EXPECT_EQ(load_error(small_bert()), "");
}

TEST(HostileModel, BadHyperParametersAreNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  struct Case {
    const char* key;
    MetaValue value;
  };
  const std::vector<Case> cases = {
      {"llama.block_count", uint32_t{0}},
      {"llama.block_count", uint32_t{1u << 31}},
      {"llama.block_count", uint64_t{1} << 63},
      {"llama.block_count", int32_t{-1}},
      {"llama.block_count", "one"},
      {"llama.context_length", uint32_t{0}},
      {"llama.context_length", UINT32_MAX},
      {"llama.embedding_length", uint32_t{0}},
      {"llama.embedding_length", UINT32_MAX},
      {"llama.feed_forward_length", uint32_t{0}},
      {"llama.feed_forward_length", std::vector<uint32_t>{96, 96}},
      {"llama.attention.head_count", uint32_t{0}},
      {"llama.attention.head_count", uint32_t{3}},
      {"llama.attention.head_count", UINT32_MAX},
      {"llama.attention.head_count", std::vector<std::string>{"4"}},
      {"llama.attention.head_count_kv", uint32_t{0}},
      {"llama.attention.head_count_kv", uint32_t{8}},
      {"llama.attention.key_length", uint32_t{0}},
      {"llama.attention.key_length", UINT32_MAX},
      {"llama.attention.layer_norm_rms_epsilon", nan},
      {"llama.attention.layer_norm_rms_epsilon", -1e-5f},
      {"llama.attention.layer_norm_rms_epsilon", 0.0f},
      {"llama.attention.layer_norm_rms_epsilon", 2.0f},
      {"llama.attention.scale", nan},
      {"llama.rope.freq_base", 0.0f},
      {"llama.rope.freq_base", nan},
      {"llama.rope.freq_base", -10000.0f},
      {"llama.rope.dimension_count", uint32_t{0}},
      {"llama.rope.dimension_count", uint32_t{1024}},
      {"llama.rope.dimension_count", uint32_t{7}},
      {"llama.rope.scaling.type", "dynamic-ntk"},
      {"llama.rope.scaling.type", uint32_t{1}},
      {"llama.rope.scaling.factor", 0.0f},
      {"llama.rope.scaling.factor", infinity},
      {"llama.pooling_type", uint32_t{4}},
      {"llama.pooling_type", uint32_t{5}},
      {"llama.pooling_type", "mean"},
      {"llama.attention.causal", uint32_t{0}},
      {"llama.expert_count", UINT32_MAX},
      {"llama.expert_count", "eight"},
      {"general.architecture", "lama"},
      {"general.architecture", uint32_t{7}},
      {"tokenizer.ggml.model", std::vector<uint32_t>{1}},
  };
  for (const Case& c : cases) {
    gguf::SynthSpec spec = small_llama();
    if (std::string_view(c.key) == "general.architecture") {
      if (c.value.type() != gguf::MetaType::String) continue;
      spec.architecture = std::get<std::string>(c.value.data);
    } else {
      set(spec, c.key, c.value);
    }
    const std::string error = load_error(spec);
    EXPECT_NE(error.find(c.key), std::string::npos) << c.key << ": " << error;
  }
  gguf::SynthSpec spec = small_llama();
  spec.architecture = "lama";
  const std::string error = load_error(spec);
  EXPECT_NE(error.find("'lama', which is not supported"), std::string::npos) << error;
  EXPECT_NE(error.find("closest name is 'llama'"), std::string::npos) << error;
  for (const Architecture* a : all_architectures())
    EXPECT_NE(error.find(std::string(a->name)), std::string::npos) << error;
}

TEST(HostileModel, BadExpertCountsAreNamed) {
  struct Case {
    const char* key;
    MetaValue value;
  };
  const std::vector<Case> cases = {
      {"expert_count", uint32_t{1u << 20}},
      {"expert_used_count", uint32_t{0}},
      {"expert_used_count", uint32_t{7}},
      {"expert_used_count", UINT32_MAX},
      {"expert_used_count", std::vector<uint32_t>{2, 2}},
      {"expert_feed_forward_length", uint32_t{0}},
      {"expert_feed_forward_length", UINT32_MAX},
      {"expert_feed_forward_length", std::vector<uint32_t>{}},
      {"expert_gating_func", uint32_t{4}},
      {"expert_gating_func", "softmax"},
      {"expert_group_count", uint32_t{4}},
      {"expert_group_count", UINT32_MAX},
      {"expert_group_used_count", uint32_t{2}},
      {"expert_weights_norm", uint32_t{1}},
      {"expert_weights_scale", -1.0f},
      {"expert_weights_scale", std::numeric_limits<float>::infinity()},
      {"expert_shared_feed_forward_length", uint32_t{1u << 30}},
      {"expert_shared_count", UINT32_MAX},
  };
  for (const Case& c : cases) {
    gguf::SynthSpec spec = small_mixtral();
    set(spec, std::string("llama.") + c.key, c.value);
    const std::string error = load_error(spec);
    EXPECT_NE(error.find(c.key), std::string::npos) << c.key << ": " << error;
  }
}

// The attention of latents is a description of its own, which looks back only.
TEST(HostileModel, AttentionBothWaysIsHeardOrRefused) {
  gguf::SynthSpec spec = small_llama();
  set(spec, "llama.attention.causal", false);
  EXPECT_EQ(load_error(spec), "");
  spec = small_llama();
  spec.architecture = "nemotron_h";
  for (auto& [key, value] : spec.metadata)
    if (key.starts_with("llama.")) key.replace(0, 5, "nemotron_h");
  set(spec, "nemotron_h.attention.causal", false);
  std::erase_if(spec.tensors,
                [](const gguf::SynthTensor& t) { return t.name.find("ffn") != std::string::npos; });
  set(spec, "nemotron_h.feed_forward_length", uint32_t{0});
  for (const auto& [key, n] : {std::pair{"conv_kernel", 4u},
                               {"inner_size", 64u},
                               {"state_size", 16u},
                               {"time_step_rank", 4u},
                               {"group_count", 1u}})
    set(spec, std::string("nemotron_h.ssm.") + key, n);
  const std::string error = load_error(spec);
  EXPECT_NE(error.find("nemotron_h.attention.causal"), std::string::npos) << error;
}

TEST(HostileModel, ExpertsInTensorsOfTheirOwnAreRefused) {
  gguf::SynthSpec spec = small_mixtral();
  spec.tensors.resize(spec.tensors.size() - 3);
  for (const char* part : {"gate", "up", "down"})
    for (uint32_t e = 0; e < 6; e++)
      spec.tensors.push_back({fmt::format("blk.0.ffn_{}.{}.weight", part, e), {64, 96}, Type::F32});
  const std::string error = load_error(spec);
  EXPECT_NE(error.find("blk.0.ffn_gate.0.weight"), std::string::npos) << error;
  EXPECT_NE(error.find("convert the model again"), std::string::npos) << error;
}

TEST(HostileModel, TensorsThatDoNotFitAreNamed) {
  for (const gguf::SynthSpec& sound : {small_llama(), small_mixtral(), small_bert()}) {
    for (size_t i = 0; i < sound.tensors.size(); i++) {
      gguf::SynthSpec missing = sound, wide = sound;
      const std::string name = missing.tensors[i].name;
      missing.tensors.erase(missing.tensors.begin() + static_cast<ptrdiff_t>(i));
      EXPECT_NE(load_error(missing).find(name), std::string::npos) << load_error(missing);
      wide.tensors[i].dims[0] += 32;
      EXPECT_NE(load_error(wide).find(name), std::string::npos) << load_error(wide);
    }
  }
  gguf::SynthSpec extra = small_llama();
  extra.tensors.push_back({"blk.0.attn_sinks.weight", {4}, Type::F32});
  EXPECT_NE(load_error(extra).find("blk.0.attn_sinks.weight"), std::string::npos) << load_error(extra);
}

// Numbers that would be served as noise: the load names the tensor.
TEST(HostileModel, NonFiniteWeightsAreNamed) {
  const TempFolder folder;
  for (const char* name : {"output_norm.weight", "blk.0.attn_k.weight", "token_embd.weight"}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const std::string path = folder / "model.gguf";
      ASSERT_TRUE(gguf::synthesize(small_llama(), path).has_value());
      size_t offset = 0;
      {
        const auto file = gguf::File::open(path);
        offset = file->find(name)->file_offset + 4;
      }
      std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
      out.seekp(static_cast<std::streamoff>(offset));
      out.write(reinterpret_cast<const char*>(&bad), sizeof bad);
      out.close();
      const auto model = load_model(path);
      ASSERT_TRUE(model.has_value());
      std::vector<std::unique_ptr<Device>> devices;
      devices.push_back(make_ref_device({}));
      devices.push_back(*make_cpu_device({.threads = 2}));
      for (const auto& device : devices) {
        const Result<> loaded = device->upload(*(*model)->graph, {}, [](const Weight&) {});
        ASSERT_FALSE(loaded.has_value()) << device->describe();
        EXPECT_NE(loaded.error().message.find(name), std::string::npos) << loaded.error().message;
      }
    }
  }
}

}  // namespace
}  // namespace brass
