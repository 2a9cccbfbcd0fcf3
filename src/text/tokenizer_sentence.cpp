#include "text/tokenizer_sentence.h"

#include <algorithm>

#include "text/tokenizer_utf8.h"

namespace brass::tokens {

namespace {

constexpr std::string_view kBlankMark = "\xE2\x96\x81";  // U+2581
// Longer keys are not looked for, so that a table that goes in circles takes no more than linear time.
constexpr size_t kLongestKey = 256;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

uint32_t read_u32(std::span<const uint8_t> bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at]) | static_cast<uint32_t>(bytes[at + 1]) << 8 |
         static_cast<uint32_t>(bytes[at + 2]) << 16 | static_cast<uint32_t>(bytes[at + 3]) << 24;
}

// A unit of Darts-clone's double array (Yata 2011).
struct Unit {
  uint32_t bits;
  bool has_leaf() const { return (bits >> 8 & 1) != 0; }
  uint32_t value() const { return bits & 0x7FFFFFFF; }
  uint32_t label() const { return bits & 0x800000FF; }
  uint32_t offset() const { return bits >> 10 << ((bits & 0x200) >> 6); }
};

}  // namespace

Result<SentenceNormalizer> SentenceNormalizer::create(std::span<const uint8_t> charsmap,
                                                      const Options& options) {
  SentenceNormalizer made;
  made.options_ = options;
  if (charsmap.empty()) return made;
  constexpr std::string_view kField = "tokenizer.ggml.precompiled_charsmap";
  if (charsmap.size() < 4) return fail("{}: {} bytes are too few", kField, charsmap.size());
  const size_t bytes = read_u32(charsmap, 0);
  if (bytes % 4 != 0 || bytes < 4 || bytes >= charsmap.size() - 4) {
    return fail("{}: says that its table has {} bytes, of {} in all", kField, bytes, charsmap.size());
  }
  for (size_t at = 4; at < 4 + bytes; at += 4) made.units_.push_back(read_u32(charsmap, at));
  made.replacements_.assign(charsmap.begin() + static_cast<std::ptrdiff_t>(4 + bytes), charsmap.end());
  if (made.replacements_.back() != '\0') return fail("{}: its last replacement has no end", kField);
  // Leaves may lie anywhere in a broken table, so what they name is checked when it is met (next()).
  return made;
}

// The longest key of the table that the text goes on with, or else one character.
SentenceNormalizer::Prefix SentenceNormalizer::next(std::string_view text, size_t at, bool replace) const {
  if (replace && !units_.empty()) {
    Prefix longest{{}, 0};
    size_t node = Unit{units_[0]}.offset();
    const size_t end = std::min(text.size(), at + kLongestKey);
    for (size_t i = at; i < end; ++i) {
      const auto byte = static_cast<uint8_t>(text[i]);
      node ^= byte;
      if (node >= units_.size() || Unit{units_[node]}.label() != byte) break;
      const Unit unit{units_[node]};
      node ^= unit.offset();
      if (!unit.has_leaf() || node >= units_.size()) continue;
      const size_t from = Unit{units_[node]}.value();
      if (from < replacements_.size()) longest = {replacements_.c_str() + from, i + 1 - at};
    }
    if (longest.length > 0) return longest;
  }
  const Utf8Step step = utf8_step(text, at);
  if (step.state == Utf8State::kValid || units_.empty()) return {text.substr(at, step.length), step.length};
  return {kReplacement, 1};
}

void SentenceNormalizer::normalize(std::string_view text, bool replace, std::string& out) const {
  out.clear();
  size_t at = 0;
  while (options_.few_blanks && at < text.size()) {
    const Prefix prefix = next(text, at, replace);
    if (prefix.text != " ") break;
    at += prefix.length;
  }
  if (at >= text.size()) return;
  out.reserve(text.size() - at + 1);
  if (options_.blank_in_front) out.push_back(' ');
  bool after_blank = options_.few_blanks;
  while (at < text.size()) {
    const Prefix prefix = next(text, at, replace);
    at += prefix.length;
    std::string_view part = prefix.text;
    while (after_blank && part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) continue;
    after_blank = options_.few_blanks && part.ends_with(' ');
    for (size_t i = 0; i < part.size();) {
      const bool mark = part.substr(i).starts_with(kBlankMark);
      out.push_back(mark ? ' ' : part[i]);
      i += mark ? kBlankMark.size() : 1;
    }
  }
  while (options_.few_blanks && out.ends_with(' ')) out.pop_back();
}

}  // namespace brass::tokens
