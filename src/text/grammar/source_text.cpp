#include "text/grammar/source_text.h"

#include "text/tokenizer_utf8.h"

namespace brass::grammar {

Result<> check_source(std::string_view text) {
  if (text.size() > kMaxSource)
    return wrong_use("the grammar has {} bytes, and at most {} are read", text.size(), kMaxSource);
  const size_t end = tokens::valid_utf8_end(text, 0);
  const size_t zero = text.find('\0');
  if (end == text.size() && zero == std::string_view::npos) return {};
  SourceText before(text);
  before.skip(std::min(end, zero));
  return fail_at(before.place(), "{}", zero < end ? "a zero byte" : "the text is not UTF-8");
}

void SourceText::skip(size_t bytes) {
  for (; bytes > 0 && !at_end(); --bytes, ++at_) {
    if (text_[at_] == '\n') {
      place_.line++;
      place_.column = 1;
    } else if ((static_cast<uint8_t>(text_[at_]) & 0xC0) != 0x80) {
      place_.column++;
    }
  }
}

bool SourceText::take(std::string_view what) {
  if (!starts_with(what)) return false;
  skip(what.size());
  return true;
}

char32_t SourceText::next() {
  const tokens::Utf8Step step = tokens::utf8_step(text_, at_);
  skip(step.length);
  return step.code;
}

std::string SourceText::describe() const {
  if (at_end()) return "the end of the grammar";
  if (peek() == '\n' || peek() == '\r') return "the end of the line";
  return fmt::format("'{}'", text_.substr(at_, tokens::utf8_step(text_, at_).length));
}

bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

Result<int> read_count(SourceText& in) {
  const Place place = in.place();
  if (!is_digit(in.peek())) return fail_at(place, "{} where a number is expected", in.describe());
  int64_t value = 0;
  for (; is_digit(in.peek()); in.skip()) {
    value = value * 10 + (in.peek() - '0');
    if (value > kMaxCount) return fail_at(place, "a count above {} is not supported", kMaxCount);
  }
  return static_cast<int>(value);
}

Result<char32_t> read_hex(SourceText& in, int digits) {
  const Place place = in.place();
  char32_t value = 0;
  for (int i = 0; i < digits; ++i) {
    const char c = in.peek();
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return fail_at(place, "{} hexadecimal digits are expected", digits);
    value = value << 4 | static_cast<char32_t>(digit);
    in.skip();
    if (value > 0x10FFFF) return fail_at(place, "a code point above U+10FFFF");
  }
  if (value >= 0xD800 && value <= 0xDFFF)
    return fail_at(place, "U+{:04X} is half a surrogate pair", static_cast<uint32_t>(value));
  return value;
}

}  // namespace brass::grammar
