#include "text/tokenizer_vocab.h"

#include <algorithm>
#include <cmath>

#include "text/tokenizer_byte_alphabet.h"

namespace brass::tokens {

namespace {

constexpr std::string_view kBlankMark = "\xE2\x96\x81";  // U+2581
// Matching tries every special piece at every position: this bounds the time for a text.
constexpr size_t kLongestSpecial = 1024;
constexpr size_t kMostBytes = size_t{1} << 30;  // of all pieces; real vocabularies have a few megabytes

// Texts of control or user-defined pieces that end a generation, whatever the file's eos is: a chat model
// ends its turn with one of these, and many files name only the end of text.
constexpr std::string_view kEndTexts[] = {
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endofturn|>",
    "<|end_of_turn|>",
    "<|tool_response>",
    "<EOT>",
    "[EOT]",
    "_<EOT>",
    "<|END_OF_TURN_TOKEN|>",
    "<|end_of_role|>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
    "</s>",
    "<eos>",
    "[e~[",
    "<|calls|>",
    "<|flush|>",
};

// The byte that "<0x0A>" names, or nothing.
std::optional<uint8_t> named_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : piece.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
    if (!digit && !letter) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(digit ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return static_cast<uint8_t>(value);
}

void append_with_blanks(std::string& out, std::string_view piece) {
  for (size_t at = 0; at < piece.size();) {
    const size_t mark = std::min(piece.find(kBlankMark, at), piece.size());
    out.append(piece.substr(at, mark - at));
    if (mark < piece.size()) out.push_back(' ');
    at = mark + kBlankMark.size();
  }
}

// User-defined pieces have the mark, too, but are found anywhere.
void append_word_start(std::string& out, std::string_view piece, TokenKind kind) {
  const bool marked = piece.starts_with(kBlankMark) && piece != kBlankMark;
  if (!marked || (kind != TokenKind::kNormal && kind != TokenKind::kUserDefined)) {
    out.append(piece);
    return;
  }
  if (kind == TokenKind::kNormal) out.push_back(' ');
  out.append(piece.substr(kBlankMark.size()));
}

Result<> check_id(std::string_view field, int32_t id, size_t count) {
  if (id < -1 || id >= static_cast<int64_t>(count)) {
    return fail("tokenizer.ggml.{}: id {} is outside the vocabulary of {} tokens", field, id, count);
  }
  return {};
}

Result<> check(const VocabSpec& spec) {
  const size_t count = spec.tokens.size();
  if (count == 0) return fail("tokenizer.ggml.tokens: the vocabulary is empty");
  if (count > INT32_MAX / 2) return fail("tokenizer.ggml.tokens: {} tokens are too many", count);
  size_t bytes = 0;
  for (const std::string& token : spec.tokens) bytes += token.size();
  if (bytes > kMostBytes)
    return fail("tokenizer.ggml.tokens: the tokens have {} bytes together, too many", bytes);
  if (!spec.kinds.empty() && spec.kinds.size() != count) {
    return fail("tokenizer.ggml.token_type: {} entries for {} tokens", spec.kinds.size(), count);
  }
  if (!spec.scores.empty() && spec.scores.size() != count) {
    return fail("tokenizer.ggml.scores: {} entries for {} tokens", spec.scores.size(), count);
  }
  for (size_t i = 0; i < spec.scores.size(); ++i) {
    if (std::isnan(spec.scores[i]))
      return fail("tokenizer.ggml.scores: the score of token {} is not a number", i);
  }
  if (count > 1 && std::all_of(spec.tokens.begin(), spec.tokens.end(),
                               [&](const std::string& token) { return token == spec.tokens[0]; })) {
    return fail("tokenizer.ggml.tokens: all {} tokens are the same", count);
  }
  TRY(check_id("bos_token_id", spec.bos, count));
  TRY(check_id("eos_token_id", spec.eos, count));
  TRY(check_id("eot_token_id", spec.eot, count));
  TRY(check_id("eom_token_id", spec.eom, count));
  TRY(check_id("unknown_token_id", spec.unk, count));
  TRY(check_id("seperator_token_id", spec.sep, count));  // the key is spelled so
  TRY(check_id("padding_token_id", spec.pad, count));
  TRY(check_id("mask_token_id", spec.mask, count));
  TRY(check_id("cls_token_id", spec.cls, count));
  return {};
}

}  // namespace

Result<Vocab> Vocab::create(const VocabSpec& spec, Spelling spelling) {
  TRY(check(spec));
  Vocab vocab;
  vocab.kinds_ = spec.kinds;
  if (vocab.kinds_.empty()) {
    vocab.kinds_.assign(spec.tokens.size(), TokenKind::kNormal);
    for (const int32_t id : {spec.bos, spec.eos, spec.eot, spec.eom, spec.cls, spec.sep, spec.mask}) {
      if (id >= 0) vocab.kinds_[static_cast<size_t>(id)] = TokenKind::kControl;
    }
    if (spec.unk >= 0) vocab.kinds_[static_cast<size_t>(spec.unk)] = TokenKind::kUnknown;
  }
  TRY(vocab.read_byte_pieces(spec));
  vocab.spell(spec, spelling);
  vocab.find_eog(spec);
  return vocab;
}

Result<> Vocab::read_byte_pieces(const VocabSpec& spec) {
  byte_pieces_.fill(-1);
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const auto kind = static_cast<uint8_t>(kinds_[id]);
    if (kind < 1 || kind > 6)
      return fail("tokenizer.ggml.token_type: token {} is of unknown type {}", id, kind);
    if (kinds_[id] != TokenKind::kByte) continue;
    const std::optional<uint8_t> byte = named_byte(spec.tokens[id]);
    if (!byte) {
      return fail_hint("byte tokens are <0x00> to <0xFF>",
                       "tokenizer.ggml.tokens: token {}, a byte token, is '{}'", id,
                       spec.tokens[id].substr(0, 40));
    }
    if (byte_pieces_[*byte] < 0) byte_pieces_[*byte] = static_cast<int32_t>(id);
  }
  return {};
}

void Vocab::spell(const VocabSpec& spec, Spelling spelling) {
  offsets_.assign(1, 0);
  offsets_.reserve(spec.tokens.size() + 1);
  unspellable_.assign(spec.tokens.size(), false);
  for (size_t id = 0; id < spec.tokens.size(); ++id) {
    const std::string& token = spec.tokens[id];
    if (kinds_[id] == TokenKind::kByte) {
      arena_.push_back(static_cast<char>(*named_byte(token)));
    } else if (spelling == Spelling::kWordStart) {
      append_word_start(arena_, token, kinds_[id]);
    } else if (spelling == Spelling::kBlankMark) {
      append_with_blanks(arena_, token);
    } else if (kinds_[id] == TokenKind::kNormal) {
      const std::optional<std::string> bytes = bytes_of_piece(token);
      unspellable_[id] = !bytes;
      arena_.append(bytes ? *bytes : token);
    } else {
      arena_.append(token);
    }
    longest_ = std::max(longest_, arena_.size() - offsets_.back());
    offsets_.push_back(arena_.size());
  }
}

void Vocab::find_eog(const VocabSpec& spec) {
  is_eog_.assign(kinds_.size(), false);
  for (const int32_t id : {spec.eos, spec.eot, spec.eom}) {
    if (id >= 0) is_eog_[static_cast<size_t>(id)] = true;
  }
  bool returns = false, calls = false;
  for (size_t id = 0; id < kinds_.size(); ++id) {
    if (kinds_[id] != TokenKind::kControl && kinds_[id] != TokenKind::kUserDefined) continue;
    const std::string& text = spec.tokens[id];
    if (std::find(std::begin(kEndTexts), std::end(kEndTexts), text) != std::end(kEndTexts))
      is_eog_[id] = true;
    returns |= text == "<|return|>";
    calls |= text == "<|call|>";
  }
  for (size_t id = 0; id < kinds_.size(); ++id) {
    // In gpt-oss's format <|end|> ends a message, and more may follow.
    if (returns && calls && spec.tokens[id] == "<|end|>") is_eog_[id] = false;
    if (is_eog_[id]) eog_ids_.push_back(static_cast<int32_t>(id));
  }
}

std::vector<std::optional<std::string_view>> Vocab::plain() const {
  std::vector<std::optional<std::string_view>> pieces(kinds_.size());
  for (size_t id = 0; id < kinds_.size(); ++id) {
    if (kinds_[id] == TokenKind::kNormal && !unspellable_[id]) pieces[id] = bytes(static_cast<int32_t>(id));
  }
  return pieces;
}

Result<SpecialPieces> Vocab::special() const {
  std::vector<SpecialPieces::Entry> entries;
  for (int32_t id = 0; id < size(); ++id) {
    const bool control = is_hidden(id);
    if ((!control && kind(id) != TokenKind::kUserDefined) || bytes(id).empty()) continue;
    if (bytes(id).size() > kLongestSpecial) {
      return fail(
          "tokenizer.ggml.tokens: token {}, a control or user-defined token, has {} bytes (at most {})", id,
          bytes(id).size(), kLongestSpecial);
    }
    entries.push_back({bytes(id), id, control});
  }
  return SpecialPieces(std::move(entries));
}

}  // namespace brass::tokens
