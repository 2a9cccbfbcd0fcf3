// Forms of files with experts that no tiny model has.
#include <deque>

#include "gguf/writer.h"
#include "model_fixture.h"

namespace brass {
namespace {

using gguf::MetaValue;

constexpr uint32_t kWidth = 64, kFf = 40, kExperts = 5, kVocab = 60;

// Random tensors by name: the same name has the same values in every file.
class RandomFile {
 public:
  RandomFile() {
    for (const auto& [key, n] : {std::pair{"block_count", 2u},
                                 {"context_length", 64u},
                                 {"embedding_length", kWidth},
                                 {"feed_forward_length", kFf},
                                 {"attention.head_count", 4u},
                                 {"attention.head_count_kv", 2u},
                                 {"expert_count", kExperts},
                                 {"expert_used_count", 2u}})
      writer_.set(std::string("llama.") + key, MetaValue(n));
    writer_.set("general.architecture", MetaValue("llama"));
    writer_.set("llama.attention.layer_norm_rms_epsilon", MetaValue(1e-5f));
    writer_.set("tokenizer.ggml.model", MetaValue("none"));
  }

  static std::vector<float> values(const std::string& name, size_t n) {
    Rng rng(std::hash<std::string>()(name));
    std::vector<float> v(n);
    for (float& x : v) x = static_cast<float>(rng.normal()) * 0.2f + (name.contains("norm") ? 1.0f : 0.0f);
    return v;
  }
  void add(const std::string& name, std::vector<uint64_t> dims, std::vector<float> v) {
    const std::vector<float>& kept = values_.emplace_back(std::move(v));
    writer_.add_tensor(name, Type::F32, std::move(dims), std::as_bytes(std::span(kept)));
  }
  void add(const std::string& name, std::vector<uint64_t> dims) {
    size_t n = 1;
    for (const uint64_t d : dims) n *= d;
    add(name, std::move(dims), values(name, n));
  }
  void write(const std::string& path) const {
    const Result<> written = writer_.write(path);
    EXPECT_TRUE(written.has_value()) << (written ? "" : written.error().message);
  }

 private:
  gguf::Writer writer_;
  std::deque<std::vector<float>> values_;
};

// `parts` of each expert one after the other.
std::vector<float> interleaved(const std::vector<std::vector<float>>& parts) {
  std::vector<float> all;
  const size_t n = parts[0].size() / kExperts;
  for (size_t e = 0; e < kExperts; e++)
    for (const auto& part : parts)
      all.insert(all.end(), part.begin() + static_cast<ptrdiff_t>(e * n),
                 part.begin() + static_cast<ptrdiff_t>((e + 1) * n));
  return all;
}

// Gates and ups of the experts apart, or in one tensor.
void write_llama(const std::string& path, bool fused) {
  RandomFile file;
  file.add("token_embd.weight", {kWidth, kVocab});
  file.add("output_norm.weight", {kWidth});
  for (const std::string b : {"blk.0.", "blk.1."}) {
    file.add(b + "attn_norm.weight", {kWidth});
    file.add(b + "ffn_norm.weight", {kWidth});
    for (const char* name : {"attn_q", "attn_output"}) file.add(b + name + ".weight", {kWidth, kWidth});
    for (const char* name : {"attn_k", "attn_v"}) file.add(b + name + ".weight", {kWidth, kWidth / 2});
    file.add(b + "ffn_gate_inp.weight", {kWidth, kExperts});
    file.add(b + "ffn_down_exps.weight", {kFf, kWidth, kExperts});
    file.add(b + "ffn_down_exps.bias", {kWidth, kExperts});
    for (const char* kind : {".weight", ".bias"}) {
      const bool is_matrix = std::string_view(kind) == ".weight";
      const size_t n = size_t{kFf} * kExperts * (is_matrix ? kWidth : 1);
      const auto dims = [&](uint64_t rows) {
        return is_matrix ? std::vector<uint64_t>{kWidth, rows, kExperts}
                         : std::vector<uint64_t>{rows, kExperts};
      };
      const std::vector<float> gate = RandomFile::values(b + "gate" + kind, n);
      const std::vector<float> up = RandomFile::values(b + "up" + kind, n);
      if (fused) {
        file.add(b + "ffn_gate_up_exps" + kind, dims(2 * kFf), interleaved({gate, up}));
      } else {
        file.add(b + "ffn_gate_exps" + kind, dims(kFf), gate);
        file.add(b + "ffn_up_exps" + kind, dims(kFf), up);
      }
    }
  }
  file.write(path);
}

TEST(Experts, FusedGateAndUpAreTheSameModel) {
  const TempFolder folder;
  const std::string apart = folder / "apart.gguf", fused = folder / "fused.gguf";
  write_llama(apart, false);
  write_llama(fused, true);
  std::vector<int32_t> ids(20);
  for (size_t i = 0; i < ids.size(); i++) ids[i] = static_cast<int32_t>(i * 7 % kVocab);
  for (const char* device : {"ref", "cpu"}) {
    const LogitTable a = logits_of(*open(apart, {.device = device}), ids);
    const LogitTable b = logits_of(*open(fused, {.device = device}), ids);
    EXPECT_EQ(a, b) << device;
    EXPECT_NE(a[0], a[1]);
  }
}

}  // namespace
}  // namespace brass
