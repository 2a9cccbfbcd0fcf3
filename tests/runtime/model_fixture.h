// Models for the runtime's tests: a small quantized one made here, and the shared tiny ones where they are.
#pragma once

#include <gtest/gtest.h>

#include "backend/cpu/device.h"
#include "backend/ref/ref.h"
#include "base/rng.h"
#include "gguf/synth.h"
#include "runtime/engine.h"
#include "shared_data.h"
#include "temp_folder.h"

namespace brass {

// A llama with grouped heads and the formats of real mixes: Q4_K, Q6_K, Q5_0, Q8_0, F32 side by side.
inline std::string quantized_llama(const TempFolder& folder) {
  using gguf::MetaValue;
  constexpr uint32_t kWidth = 256, kFf = 512, kLayers = 3, kHeads = 4, kKvHeads = 2, kDim = 64, kVocab = 400;
  gguf::SynthSpec spec{
      .architecture = "llama", .metadata = {}, .tensors = {}, .seed = 11, .magnitude = 0.06f};
  const auto number = [&](const char* key, uint32_t n) { spec.metadata.emplace_back(key, MetaValue(n)); };
  number("llama.block_count", kLayers);
  number("llama.context_length", 2048);
  number("llama.embedding_length", kWidth);
  number("llama.feed_forward_length", kFf);
  number("llama.attention.head_count", kHeads);
  number("llama.attention.head_count_kv", kKvHeads);
  spec.metadata.emplace_back("llama.attention.layer_norm_rms_epsilon", MetaValue(1e-5f));
  spec.metadata.emplace_back("tokenizer.ggml.model", MetaValue(std::string("none")));
  const auto norm = [&](const std::string& name) {
    spec.tensors.push_back({name, {kWidth}, Type::F32, 0.1f, 1.0f});
  };
  const auto matrix = [&](const std::string& name, uint32_t cols, uint32_t rows, Type type) {
    spec.tensors.push_back({name, {cols, rows}, type});
  };
  matrix("token_embd.weight", kWidth, kVocab, Type::Q6_K);
  norm("output_norm.weight");
  for (uint32_t i = 0; i < kLayers; i++) {
    const std::string b = "blk." + std::to_string(i) + ".";
    norm(b + "attn_norm.weight");
    norm(b + "ffn_norm.weight");
    matrix(b + "attn_q.weight", kWidth, kHeads * kDim, Type::Q4_K);
    matrix(b + "attn_k.weight", kWidth, kKvHeads * kDim, Type::Q8_0);
    matrix(b + "attn_v.weight", kWidth, kKvHeads * kDim, i % 2 == 0 ? Type::Q6_K : Type::Q5_0);
    matrix(b + "attn_output.weight", kHeads * kDim, kWidth, Type::Q4_K);
    matrix(b + "ffn_gate.weight", kWidth, kFf, Type::Q4_K);
    matrix(b + "ffn_up.weight", kWidth, kFf, i == 1 ? Type::F32 : Type::Q4_K);
    matrix(b + "ffn_down.weight", kFf, kWidth, Type::Q6_K);
  }
  const std::string path = folder / "quantized.gguf";
  const Result<> made = gguf::synthesize(spec, path);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return path;
}

// The model made here, and every shared tiny model of an architecture that is built.
inline std::vector<std::string> test_models(const TempFolder& folder) {
  std::vector<std::string> paths = {quantized_llama(folder)};
  for (const char* name : {"llama-a", "llama3rope-a", "mistral-a", "qwen2-a", "qwen3-a", "gemma3-a",
                           "gemma2-a", "phi3-a", "cohere2-a", "ministral3-a", "hunyuan-a", "mixtral-a",
                           "qwen2moe-a", "glm4moe-a", "gptoss-a", "deepseekv3-a", "gemma4-a"})
    if (const auto path = shared_data(std::string("tiny/") + name + ".gguf")) paths.push_back(*path);
  return paths;
}

// Those whose layers keep a state.
inline std::vector<std::string> recurrent_models() {
  std::vector<std::string> paths;
  for (const char* name : {"qwen35-a", "qwen3next-a", "lfm2-a", "mamba2-a", "nemotronh-a"})
    if (const auto path = shared_data(std::string("tiny/") + name + ".gguf")) paths.push_back(*path);
  return paths;
}

// Both.
inline std::vector<std::string> all_models(const TempFolder& folder) {
  std::vector<std::string> paths = test_models(folder);
  for (std::string& path : recurrent_models()) paths.push_back(std::move(path));
  return paths;
}

struct Setting {
  std::string device = "cpu";
  std::string isa;
  uint32_t threads = 2;
  uint32_t chunk = 512;
  uint32_t sequences = 1;
  uint32_t context = 0;
  KvType kv_type = KvType::kF16;
};

inline std::unique_ptr<Engine> open(const std::string& path, const Setting& s,
                                    const ModelPurpose& purpose = {}) {
  Result<std::unique_ptr<Model>> model = load_model(path, purpose);
  EXPECT_TRUE(model.has_value()) << (model ? "" : model.error().message);
  Result<std::unique_ptr<Device>> device = std::unique_ptr<Device>();
  if (s.device == "ref")
    device = make_ref_device({.threads = s.threads});
  else
    device = make_cpu_device({.threads = s.threads, .isa = s.isa, .k_type = s.kv_type, .v_type = s.kv_type});
  EXPECT_TRUE(device.has_value()) << (device ? "" : device.error().message);
  Result<std::unique_ptr<Engine>> engine = Engine::create(std::move(*model), std::move(*device),
                                                          {.context = s.context,
                                                           .sequences = s.sequences,
                                                           .chunk = s.chunk,
                                                           .k_type = s.kv_type,
                                                           .v_type = s.kv_type},
                                                          {});
  EXPECT_TRUE(engine.has_value()) << (engine ? "" : engine.error().message);
  return engine ? std::move(*engine) : nullptr;
}

inline std::vector<int32_t> random_ids(const Engine& engine, uint32_t n, uint64_t seed) {
  Rng rng(seed);
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) id = static_cast<int32_t>(rng.below(engine.model().info.vocabulary));
  return ids;
}

using LogitTable = std::vector<std::vector<float>>;

// The logits of every position that is still to be processed, of all sequences with work, by sequence.
inline std::vector<LogitTable> run_all(Engine& engine, size_t sequences) {
  std::vector<LogitTable> rows(sequences);
  while (engine.has_work()) {
    const auto made = engine.step();
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
    if (!made) break;
    for (const StepRows& r : *made)
      for (uint32_t i = 0; i < r.count; i++) {
        const std::span<const float> logits = engine.logits(r.first_row + i);
        rows.at(static_cast<size_t>(r.sequence)).emplace_back(logits.begin(), logits.end());
      }
  }
  return rows;
}

inline LogitTable logits_of(Engine& engine, const std::vector<int32_t>& ids) {
  const SequenceId id = *engine.create_sequence();
  engine.want_logits(id, LogitRows::kAll);
  EXPECT_TRUE(engine.sync(id, ids).has_value());
  LogitTable rows = run_all(engine, static_cast<size_t>(id) + 1)[static_cast<size_t>(id)];
  engine.drop(id);
  return rows;
}

}  // namespace brass
