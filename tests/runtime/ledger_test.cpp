// The ledger is true: after one decode on a cold mapping, the pages of the file that were touched are those
// of the bytes that the plan says a step reads.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>

#include "model_fixture.h"

namespace brass {
namespace {

// As the quantized llama, but with an output matrix of its own and an embedding of 16 MB: most of the file is
// not read. `experts`: of which a token uses 4; 0: a dense model.
std::string untied_llama(const TempFolder& folder, uint32_t experts = 0) {
  using gguf::MetaValue;
  constexpr uint32_t kWidth = 1024, kVocab = 4096;
  gguf::SynthSpec spec{.architecture = "llama", .metadata = {}, .tensors = {}, .seed = 5, .magnitude = 0.05f};
  for (const auto& [key, n] : {std::pair{"llama.block_count", 1u},
                               {"llama.context_length", 64u},
                               {"llama.embedding_length", kWidth},
                               {"llama.feed_forward_length", 512u},
                               {"llama.attention.head_count", 8u},
                               {"llama.attention.head_count_kv", 2u}})
    spec.metadata.emplace_back(key, MetaValue(n));
  spec.metadata.emplace_back("llama.attention.layer_norm_rms_epsilon", MetaValue(1e-5f));
  spec.metadata.emplace_back("tokenizer.ggml.model", MetaValue("none"));
  const auto add = [&](const char* name, std::vector<uint64_t> dims, Type type) {
    spec.tensors.push_back({name, std::move(dims), type});
  };
  add("token_embd.weight", {kWidth, kVocab}, Type::F32);
  add("output_norm.weight", {kWidth}, Type::F32);
  add("output.weight", {kWidth, kVocab}, Type::Q4_K);
  add("blk.0.attn_norm.weight", {kWidth}, Type::F32);
  add("blk.0.ffn_norm.weight", {kWidth}, Type::F32);
  add("blk.0.attn_q.weight", {kWidth, kWidth}, Type::Q6_K);
  add("blk.0.attn_k.weight", {kWidth, 256}, Type::Q8_0);
  add("blk.0.attn_v.weight", {kWidth, 256}, Type::Q8_0);
  add("blk.0.attn_output.weight", {kWidth, kWidth}, Type::Q4_0);
  if (experts == 0) {
    add("blk.0.ffn_gate.weight", {kWidth, 512}, Type::Q4_K);
    add("blk.0.ffn_up.weight", {kWidth, 512}, Type::Q4_K);
    add("blk.0.ffn_down.weight", {512, kWidth}, Type::Q5_K);
  } else {
    spec.metadata.emplace_back("llama.expert_count", MetaValue(experts));
    spec.metadata.emplace_back("llama.expert_used_count", MetaValue(4u));
    add("blk.0.ffn_gate_inp.weight", {kWidth, experts}, Type::F32);
    add("blk.0.ffn_gate_exps.weight", {kWidth, 512, experts}, Type::Q8_0);
    add("blk.0.ffn_up_exps.weight", {kWidth, 512, experts}, Type::Q8_0);
    add("blk.0.ffn_down_exps.weight", {512, kWidth, experts}, Type::Q8_0);
  }
  const std::string path = folder / "untied.gguf";
  const Result<> made = gguf::synthesize(spec, path);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  return path;
}

// The system may keep a written file in pieces of 2 MB, which a touch maps whole: they go, and come back page by page.
void forget_pages(const std::string& path, const Mapping& mapping) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(fdatasync(fd), 0);
  EXPECT_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  close(fd);
  const std::span<const std::byte> bytes = mapping.bytes();
  EXPECT_EQ(madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_RANDOM), 0);
}

// After one decode on a cold mapping.
void expect_resident(const std::string& path) {
  auto model = load_model(path);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  const gguf::File& file = *(*model)->file;
  const uint64_t metadata = file.tensors()[0].file_offset;
  const Mapping& mapping = *file.mapping(0);
  const size_t tensors = file.tensors().size(), file_bytes = file.total_bytes();
  auto engine = Engine::create(std::move(*model), make_ref_device({.check_finite = false}), {}, {});
  ASSERT_TRUE(engine.has_value());
  const SequenceId id = *(*engine)->create_sequence();
  ASSERT_TRUE((*engine)->sync(id, std::vector<int32_t>{2000}).has_value());
  mapping.drop(0, file_bytes);
  forget_pages(path, mapping);
  ASSERT_TRUE((*engine)->step().has_value());

  const Cost cost = plan_cost(**(*engine)->plan_for(1, 1), {.t = 1, .r = 1, .s = 0});
  const size_t resident = mapping.resident_bytes();
  ASSERT_GT(resident, 0u);
  // Two ends of each tensor, the file's first pages, and what the kernel maps around a fault (64 KiB at
  // most).
  const auto slack = static_cast<double>(metadata + 2 * 4096 * tensors + (2 << 20));
  EXPECT_NEAR(static_cast<double>(resident), static_cast<double>(cost.weight_bytes), slack);
  EXPECT_LT(slack, 0.15 * static_cast<double>(file_bytes));
}

TEST(Ledger, ResidentPagesAreTheBytesThatAStepReads) {
  const TempFolder folder;
  expect_resident(untied_llama(folder));
}
// Of the experts, those that the token uses.
TEST(Ledger, ResidentPagesAreTheExpertsThatAStepReads) {
  const TempFolder folder;
  expect_resident(untied_llama(folder, 16));
}

TEST(Ledger, EveryMatrixIsReadOnceByABatch) {
  const TempFolder folder;
  const auto engine = open(quantized_llama(folder), {});
  const auto bytes = [&](uint32_t t) {
    return plan_cost(**engine->plan_for(t, t), {.t = t, .r = t, .s = 0}).weight_bytes;
  };
  const Graph& graph = *engine->model().graph;
  uint64_t embedding_row = 0;
  for (const Weight& w : graph.weights)
    if (w.name == "token_embd.weight") embedding_row = w.bytes() / w.rows;
  EXPECT_EQ(bytes(8) - bytes(1), 7 * embedding_row);
}

}  // namespace
}  // namespace brass
