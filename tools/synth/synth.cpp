// brass-synth: a GGUF file of a published model's sizes, types and vocabulary with random weights.
//
//   brass-synth SHAPE.json OUT.gguf [--mix Q4_K_M] [--layers N] [--seed N] [--exact | --hollow]
//
// Speed and memory of a model can be measured where its weights cannot be had: shapes/ holds some. What it says is
// noise. --layers cuts a model to its first N blocks (per-layer arrays too). --exact draws every weight by itself
// instead of repeating some megabytes. --hollow writes none, for what asks for sizes alone (brass explain).
#include "gguf/synth.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "model/shape_json.h"

namespace brass {
namespace {

struct Flags {
  std::string shape, out, mix = "Q4_K_M";
  uint32_t layers = 0;
  uint64_t seed = 1;
  bool exact = false, hollow = false;
};

Result<Flags> read_flags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    const bool takes_value = word == "--mix" || word == "--layers" || word == "--seed";
    if (takes_value && i + 1 == argc) return wrong_use("flag {}: a value is missing", word);
    if (word == "--exact") {
      flags.exact = true;
    } else if (word == "--hollow") {
      flags.hollow = true;
    } else if (word == "--mix") {
      flags.mix = argv[++i];
    } else if (word == "--layers") {
      flags.layers = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--seed") {
      flags.seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (word.starts_with("--")) {
      return wrong_use("flag {}: is not known", word);
    } else if (flags.shape.empty()) {
      flags.shape = word;
    } else if (flags.out.empty()) {
      flags.out = word;
    } else {
      return wrong_use("'{}' is one argument too many", word);
    }
  }
  if (flags.out.empty())
    return wrong_use(
        "usage: brass-synth SHAPE.json OUT.gguf [--mix M] [--layers N] [--seed N] [--exact | --hollow]");
  return flags;
}

// The first `layers` blocks.
void cut(ShapeSpec& spec, uint32_t layers) {
  uint32_t blocks = 0;
  for (auto& [key, value] : spec.metadata)
    if (key.ends_with(".block_count")) blocks = std::exchange(std::get<uint32_t>(value.data), layers);
  for (auto& [key, value] : spec.metadata)
    if (auto* array = std::get_if<gguf::MetaArray>(&value.data);
        array != nullptr && array->items.size() == blocks)
      array->items.resize(layers, gguf::MetaValue(0u));
}

// A byte-level vocabulary of the true size: 256 bytes, a pair for the one merge, and words that no text holds.
std::vector<std::string> pieces(uint32_t n) {
  std::vector<std::string> out;
  uint32_t beyond = 256;
  for (uint32_t byte = 0; byte < 256; byte++) {
    const bool plain = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    const uint32_t point = plain ? byte : beyond++;
    out.push_back(point < 128 ? std::string(1, static_cast<char>(point))
                              : std::string{static_cast<char>(0xC0 | point >> 6),
                                            static_cast<char>(0x80 | (point & 63))});
  }
  out.emplace_back("ab");
  for (uint32_t i = 257; i < n; i++) out.push_back(fmt::format("<{}>", i));
  return out;
}

void add_vocabulary(gguf::SynthSpec& out, uint32_t n) {
  constexpr int32_t kNormal = 1, kControl = 3;
  std::vector<int32_t> kinds(n, kNormal);
  const uint32_t end = n - 1;
  kinds[end] = kControl;
  auto& m = out.metadata;
  m.emplace_back("tokenizer.ggml.model", "gpt2");
  m.emplace_back("tokenizer.ggml.pre", "qwen2");
  m.emplace_back("tokenizer.ggml.tokens", pieces(n));
  m.emplace_back("tokenizer.ggml.token_type", kinds);
  m.emplace_back("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  m.emplace_back("tokenizer.ggml.eos_token_id", end);
  m.emplace_back("tokenizer.ggml.add_bos_token", false);
  m.emplace_back("tokenizer.chat_template",
                 "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:");
}

// Values that a model of this role would have: norms about 1, decays negative.
gguf::SynthTensor filled(const ShapedTensor& t) {
  gguf::SynthTensor out{.name = t.name, .dims = t.dims, .type = t.type};
  if (t.type != Type::F32) return out;
  const bool is_one = t.name.ends_with("norm.weight") || t.name.starts_with("rope_f") ||
                      t.name.ends_with("scale.weight") || t.name.ends_with("norm_2.weight") ||
                      t.name.ends_with("norm_1.weight");
  if (is_one) out.offset = 1;
  if (t.name.ends_with(".ssm_a")) out.offset = -1;
  return out;
}

Result<> run(const Flags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  ShapeSpec shape = TRY(read_shape(flags.shape));
  if (flags.layers > 0) cut(shape, flags.layers);
  const Shaped model = TRY(describe_shape(shape, flags.mix));

  gguf::SynthSpec out{.architecture = shape.architecture, .metadata = shape.metadata};
  out.metadata.emplace_back("general.name", std::filesystem::path(flags.shape).stem().string() + ", random");
  out.seed = flags.seed;
  out.pooled = !flags.exact;
  out.hollow = flags.hollow;
  add_vocabulary(out, shape.vocabulary);
  for (const ShapedTensor& t : model.tensors) out.tensors.push_back(filled(t));
  TRY_VOID(gguf::synthesize(out, flags.out));

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{}: {} tensors, {:.2f} GB, {:.1f} s\n", flags.out, out.tensors.size(),
             static_cast<double>(std::filesystem::file_size(flags.out)) / 1e9, seconds.count());
  return {};
}

}  // namespace
}  // namespace brass

int main(int argc, char** argv) {
  const brass::Result<brass::Flags> flags = brass::read_flags(argc, argv);
  const brass::Result<> done = flags ? brass::run(*flags) : brass::Result<>(std::unexpected(flags.error()));
  if (done) return 0;
  fmt::print(stderr, "brass-synth: {}{}{}\n", done.error().message, done.error().hint.empty() ? "" : "; ",
             done.error().hint);
  return done.error().wrong_use ? 2 : 1;
}
