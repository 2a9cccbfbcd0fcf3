// What a model file says about its vocabulary, as plain data: the bridge between `model` (which reads it from a
// file) and `text` (which makes a tokenizer of it), which do not know each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace brass {

// Values of tokenizer.ggml.token_type.
enum class TokenKind : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct VocabSpec {
  std::string model;                // tokenizer.ggml.model: "gpt2", "llama", "bert", "t5", "none", ...
  std::string pre;                  // tokenizer.ggml.pre; may be empty
  std::vector<std::string> tokens;  // piece of id i
  std::vector<float> scores;        // empty, or one a token
  std::vector<TokenKind> kinds;     // empty, or one a token
  std::vector<std::string> merges;  // "left right", best first

  static constexpr int32_t kNone = -1;
  int32_t bos = kNone, eos = kNone, eot = kNone, eom = kNone, unk = kNone, sep = kNone, pad = kNone,
          mask = kNone, cls = kNone;
  // unset (-1) means the default of the tokenizer model
  int add_bos = -1, add_eos = -1, add_sep = -1, add_space_prefix = -1, remove_extra_whitespaces = -1;
  int lowercase = -1, strip_accents = -1;  // tokenizer.ggml.normalizer.*, of WordPiece
  std::vector<uint8_t> precompiled_charsmap;
  std::string chat_template;                                         // tokenizer.chat_template; may be empty
  std::vector<std::pair<std::string, std::string>> named_templates;  // tokenizer.chat_template.NAME
};

}  // namespace brass
