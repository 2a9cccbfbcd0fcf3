#include "gguf/vocab.h"

#include <algorithm>

namespace brass::gguf {
namespace {

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";

// 2^31 - 1 is the most that an int32 id can name; no vocabulary comes near.
constexpr uint64_t kMaxTokens = 1 << 24;

bool is_hex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool is_byte_piece(std::string_view piece) {
  if (piece.size() == 1) return true;
  return piece.size() == 6 && piece.starts_with("<0x") && is_hex(piece[3]) && is_hex(piece[4]) &&
         piece[5] == '>';
}

Result<> read_tokens(const File& file, VocabSpec& spec) {
  const auto tokens = TRY(file.get_string_array(kTokens));
  if (tokens.empty()) return file.key_error(kTokens, "is empty");
  if (tokens.size() > kMaxTokens) {
    return file.key_error(kTokens, fmt::format("has {} tokens: the limit is {}", tokens.size(), kMaxTokens));
  }
  const bool differ =
      std::any_of(tokens.begin(), tokens.end(), [&](std::string_view t) { return t != tokens[0]; });
  if (tokens.size() > 1 && !differ) {
    return file.key_error(kTokens,
                          fmt::format("all {} tokens are the same: {}", tokens.size(), quoted(tokens[0])));
  }
  spec.tokens.assign(tokens.begin(), tokens.end());
  return {};
}

Result<> check_one_a_token(const File& file, std::string_view key, size_t count, size_t tokens) {
  if (count == tokens) return {};
  return file.key_error(key, fmt::format("has {} values, but {} has {} tokens", count, kTokens, tokens));
}

Result<> read_scores(const File& file, VocabSpec& spec) {
  constexpr std::string_view kKey = "tokenizer.ggml.scores";
  auto scores = TRY(file.find_float_array(kKey));
  if (!scores) return {};
  TRY(check_one_a_token(file, kKey, scores->size(), spec.tokens.size()));
  spec.scores = std::move(*scores);
  return {};
}

Result<> read_kinds(const File& file, VocabSpec& spec) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const auto kinds = TRY(file.find_int_array(kKey));
  if (!kinds) return {};
  TRY(check_one_a_token(file, kKey, kinds->size(), spec.tokens.size()));
  spec.kinds.reserve(kinds->size());
  for (size_t i = 0; i < kinds->size(); i++) {
    const int64_t kind = (*kinds)[i];
    if (kind < 0 || kind > 6)
      return file.key_error(kKey, fmt::format("token {} has the unknown type {}", i, kind));
    // 0 is "undefined" in the enumeration that writers use: a token without special treatment.
    spec.kinds.push_back(kind == 0 ? TokenKind::kNormal : static_cast<TokenKind>(kind));
    if (spec.kinds.back() == TokenKind::kByte && !is_byte_piece(spec.tokens[i])) {
      return file.key_error(kTokens, fmt::format("token {} is a byte token, but {} is not of the form <0x41>",
                                                 i, quoted(spec.tokens[i])));
    }
  }
  return {};
}

Result<> read_id(const File& file, std::string_view key, size_t tokens, int32_t& id) {
  const auto value = TRY(file.find_int(key));
  if (!value || *value == -1 || *value == UINT32_MAX) return {};
  if (*value < 0 || static_cast<uint64_t>(*value) >= tokens) {
    return file.key_error(key,
                          fmt::format("token id {} is outside the vocabulary of {} tokens", *value, tokens));
  }
  id = static_cast<int32_t>(*value);
  return {};
}

Result<> read_ids(const File& file, VocabSpec& spec) {
  const std::pair<std::string_view, int32_t*> ids[] = {
      {"bos", &spec.bos},       {"eos", &spec.eos},       {"eot", &spec.eot},   {"eom", &spec.eom},
      {"unknown", &spec.unk},   {"seperator", &spec.sep},  // the key as its inventors spelled it
      {"separator", &spec.sep}, {"padding", &spec.pad},   {"mask", &spec.mask}, {"cls", &spec.cls},
  };
  for (const auto& [name, id] : ids) {
    TRY(read_id(file, fmt::format("tokenizer.ggml.{}_token_id", name), spec.tokens.size(), *id));
  }
  return {};
}

Result<> read_flags(const File& file, VocabSpec& spec) {
  const std::pair<std::string_view, int*> flags[] = {
      {"tokenizer.ggml.add_bos_token", &spec.add_bos},
      {"tokenizer.ggml.add_eos_token", &spec.add_eos},
      {"tokenizer.ggml.add_sep_token", &spec.add_sep},
      {"tokenizer.ggml.add_space_prefix", &spec.add_space_prefix},
      {"tokenizer.ggml.remove_extra_whitespaces", &spec.remove_extra_whitespaces},
      {"tokenizer.ggml.normalizer.lowercase", &spec.lowercase},
      {"tokenizer.ggml.normalizer.strip_accents", &spec.strip_accents},
  };
  for (const auto& [key, flag] : flags) {
    if (const auto value = TRY(file.find_bool(key))) *flag = *value ? 1 : 0;
  }
  return {};
}

Result<> read_charsmap(const File& file, VocabSpec& spec) {
  constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
  const Value* value = file.find_key(kKey);
  if (value == nullptr) return {};
  const bool bytes = value->type == MetaType::Array && meta_type_bytes(value->element) == 1;
  if (!bytes || value->element == MetaType::Bool) return file.key_error(kKey, "is not an array of bytes");
  spec.precompiled_charsmap.resize(value->bytes.size());
  std::memcpy(spec.precompiled_charsmap.data(), value->bytes.data(), value->bytes.size());
  return {};
}

Result<> read_templates(const File& file, VocabSpec& spec) {
  constexpr std::string_view kPrefix = "tokenizer.chat_template.";
  spec.chat_template = TRY(file.string_or("tokenizer.chat_template", ""));
  for (const Entry& entry : file.metadata()) {
    if (!std::string_view(entry.key).starts_with(kPrefix)) continue;
    spec.named_templates.emplace_back(entry.key.substr(kPrefix.size()), TRY(file.get_string(entry.key)));
  }
  // The list of names adds nothing to the keys, but it may promise a template that is not there.
  const auto names = TRY(file.find_string_array("tokenizer.chat_templates"));
  for (const std::string_view name : names.value_or(std::vector<std::string_view>{})) {
    const std::string key = fmt::format("{}{}", kPrefix, name);
    if (!file.has(key)) {
      return file.key_error("tokenizer.chat_templates",
                            fmt::format("names {}, which the file lacks", quoted(key)));
    }
  }
  return {};
}

Result<VocabSpec> read_all(const File& file) {
  VocabSpec spec;
  TRY(read_templates(file, spec));
  const bool absent = !file.has("tokenizer.ggml.model") && !file.has(kTokens);
  spec.model = absent ? "none" : TRY(file.get_string("tokenizer.ggml.model"));
  if (spec.model == "none") return spec;
  spec.pre = TRY(file.string_or("tokenizer.ggml.pre", ""));
  TRY(read_tokens(file, spec));
  TRY(read_scores(file, spec));
  TRY(read_kinds(file, spec));
  if (const auto merges = TRY(file.find_string_array("tokenizer.ggml.merges"))) {
    spec.merges.assign(merges->begin(), merges->end());
  }
  TRY(read_ids(file, spec));
  TRY(read_flags(file, spec));
  TRY(read_charsmap(file, spec));
  return spec;
}

}  // namespace

Result<VocabSpec> read_vocab(const File& file) {
  auto spec = read_all(file);
  TRY(file.check());  // before the result: a file that shrank reads as zeros, and any error would blame the
                      // zeros
  return spec;
}

}  // namespace brass::gguf
