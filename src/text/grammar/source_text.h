// The text of a grammar while it is read: where we are, and errors that say so.
//
// Owns: the position as line and column (both from 1, columns in code points). Must not know: any notation.
// Invariants: the text is well-formed UTF-8 and not longer than kMaxSource (check_source), so a character is never cut.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brass::grammar {

inline constexpr size_t kMaxSource = 8 << 20;  // bytes
// Deeper brackets are refused, and more repetitions of one item: what is read is walked by recursion.
inline constexpr int kMaxNesting = 256;
inline constexpr int kMaxRepetitions = 3;
inline constexpr int kMaxCount = 1'000'000;  // in {m,n}

struct Place {
  uint32_t line = 1, column = 1;
};

template <class... Args>
std::unexpected<Error> fail_at(Place place, fmt::format_string<Args...> text, Args&&... args) {
  return std::unexpected(Error{fmt::format("line {}, column {}: {}", place.line, place.column,
                                           fmt::format(text, std::forward<Args>(args)...)),
                               {},
                               true});
}

// Refuses what is too long, is not UTF-8, or holds a zero byte.
Result<> check_source(std::string_view text);

class SourceText {
 public:
  explicit SourceText(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  // 0 behind the end.
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  Place place() const { return place_; }
  size_t offset() const { return at_; }
  std::string_view from(size_t offset) const { return text_.substr(offset, at_ - offset); }

  void skip(size_t bytes = 1);
  bool take(std::string_view what);  // skips it if it is next
  // The next code point; not at the end.
  char32_t next();
  // What is next, to be shown in an error: a character in quotes, "the end".
  std::string describe() const;

 private:
  std::string_view text_;
  size_t at_ = 0;
  Place place_;
};

bool is_word_start(char c);  // an ASCII letter or '_'
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits up to kMaxCount.
Result<int> read_count(SourceText& in);
// Exactly `digits` hexadecimal digits, as a code point that is not a surrogate.
Result<char32_t> read_hex(SourceText& in, int digits);

}  // namespace brass::grammar
