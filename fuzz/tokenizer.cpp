// Tokenizers over any text and any small vocabulary. Beyond crashes: what tokenizer.h promises of ids and of
// text.
#include "text/tokenizer.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "text/tokenizer_stream.h"
#include "text/tokenizer_utf8.h"

namespace {

using namespace brass;

void require(bool holds) {
  if (!holds) std::abort();
}

// Takes numbers and strings off the front of the input.
struct Source {
  std::string_view left;

  uint8_t byte() {
    if (left.empty()) return 0;
    const auto value = static_cast<uint8_t>(left[0]);
    left.remove_prefix(1);
    return value;
  }
  std::string_view bytes(size_t count) {
    const std::string_view taken = left.substr(0, count);
    left.remove_prefix(taken.size());
    return taken;
  }
};

// Every byte, some merges, control and user-defined pieces; byte-level (even) or SentencePiece.
VocabSpec base_spec(uint8_t which) {
  static const char* const kPre[] = {"gpt-2",  "llama-bpe",      "qwen2",  "qwen35",
                                     "smollm", "deepseek-coder", "gpt-4o", "tekken"};
  VocabSpec spec;
  const bool bytes = which % 2 == 0;
  spec.model = bytes ? "gpt2" : "llama";
  spec.pre = kPre[which / 2 % std::size(kPre)];
  const auto add = [&](std::string text, TokenKind kind) {
    spec.tokens.push_back(std::move(text));
    spec.kinds.push_back(kind);
    spec.scores.push_back(-static_cast<float>(spec.scores.size() % 7));
  };
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool kept = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
    std::string spelled;
    tokens::append_utf8(spelled, kept ? static_cast<char32_t>(byte) : next++);
    add(bytes ? spelled : fmt::format("<0x{:02X}>", byte), bytes ? TokenKind::kNormal : TokenKind::kByte);
  }
  for (const char* piece : {"ab", "aba", "abab", "bb", "1a"}) add(piece, TokenKind::kNormal);
  if (bytes) spec.merges = {"a b", "ab a", "ab ab", "b b", "1 a"};
  if (!bytes) {
    for (const char* piece : {"a", "b", "\xE2\x96\x81", "\xE2\x96\x81\xE2\x96\x81",
                              "\xE2\x96\x81"
                              "a"})
      add(piece, TokenKind::kNormal);
  }
  add("<|end|>", TokenKind::kControl);
  add("<|", TokenKind::kUserDefined);
  add("<|en", TokenKind::kControl);
  return spec;
}

// Spoils the spec as the input says; many results are refused, none may crash.
void spoil(VocabSpec& spec, Source& source) {
  for (uint8_t left = source.byte() % 8; left > 0; --left) {
    const size_t at = (source.byte() << 8 | source.byte()) % spec.tokens.size();
    switch (source.byte() % 6) {
      case 0:
        spec.tokens[at] = source.bytes(source.byte() % 16);
        break;
      case 1:
        spec.kinds[at] = static_cast<TokenKind>(source.byte() % 8);
        break;
      case 2:
        spec.merges.emplace_back(source.bytes(source.byte() % 16));
        break;
      case 3:
        spec.scores[at] = static_cast<float>(source.byte()) - 128.0f;
        break;
      case 4:
        spec.eos = static_cast<int32_t>(at);
        break;
      case 5:
        spec.model = "gemma4";
        break;
    }
  }
}

void check(const Tokenizer& tokenizer, std::string_view text, bool intact) {
  const auto ids = tokenizer.encode(text, {.add_bos = false, .add_eos = false, .normalize = false});
  for (const int32_t id : ids) require(tokenizer.is_valid(id) && (!intact || !tokenizer.is_control(id)));
  const std::string back = tokenizer.decode(ids, true);
  if (intact && text.find("\xE2\x96\x81") == std::string_view::npos) require(back == text);
  StreamDecoder stream(tokenizer, {.special = true});
  std::string streamed;
  for (const int32_t id : ids) streamed += stream.push(id);
  streamed += stream.flush();
  require(tokens::valid_utf8_end(streamed, 0) == streamed.size());
  if (tokens::valid_utf8_end(back, 0) == back.size()) require(streamed == back);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Source source{{reinterpret_cast<const char*>(data), size}};
  VocabSpec spec = base_spec(source.byte());
  const bool intact = source.byte() % 2 == 0;
  if (!intact) spoil(spec, source);
  const auto tokenizer = Tokenizer::create(spec);
  require(!intact || tokenizer.has_value());
  if (!tokenizer) return 0;
  check(**tokenizer, source.left, intact);
  const size_t cut = size % (source.left.size() + 1);
  const Segment segments[] = {{source.left.substr(0, cut), true}, {source.left.substr(cut), false}};
  (*tokenizer)->encode_segments(segments);
  return 0;
}
