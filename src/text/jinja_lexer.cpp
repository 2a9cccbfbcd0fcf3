#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "text/jinja_unicode.h"

namespace brass::jinja {
namespace {

// Carriage returns become newlines, and one newline at the end of the file is dropped.
std::string normalize_newlines(std::string_view source, bool drop_last) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); i++) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') i++;
    }
  }
  if (drop_last && !out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

bool is_digit_of(char c, int base) {
  if (base == 16) return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'f');
  return c >= '0' && c < '0' + base;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) TRY(text());
    add(Tok::end_of_file, at_, {});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool next_is(std::string_view what) const { return rest().starts_with(what); }

  Position position(size_t offset) {
    if (offset < counted_) counted_ = line_start_ = 0, line_ = 1;
    while (counted_ < offset) {
      if (source_[counted_++] == '\n') line_++, line_start_ = counted_;
    }
    return {line_, static_cast<uint32_t>(offset - line_start_ + 1)};
  }

  Token& add(Tok type, size_t offset, std::string text) {
    tokens_.push_back(Token{type, position(offset), std::move(text)});
    return tokens_.back();
  }

  size_t skip_space(size_t at) const {
    while (at < source_.size()) {
      size_t length = 0;
      if (!is_space(decode_at(source_, at, length))) break;
      at += length;
    }
    return at;
  }

  // Text up to the next tag, comment or raw block, which is then read too.
  Result<> text() {
    const size_t start = at_;
    size_t tag = start;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        add(Tok::data, start, source_.substr(start));
        at_ = source_.size();
        return {};
      }
      const char c = source_[tag + 1];
      if (c == '%' || c == '{' || c == '#') break;
      tag++;
    }
    const char kind = source_[tag + 1];
    at_ = tag + 2;
    char sign = 0;
    if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) sign = source_[at_++];
    if (kind == '{' && sign == 0) sign = '+';  // a variable strips only when told to
    const std::string_view before = strip_before(start, tag, sign, line_starting_);
    if (!before.empty()) add(Tok::data, start, std::string(before));
    if (kind == '#') return comment(tag);
    if (kind == '%') {
      if (const size_t body = raw_start()) return raw(tag, body);
      add(Tok::block_begin, tag, {});
      return tag_tokens("%}", Tok::block_end);
    }
    add(Tok::variable_begin, tag, {});
    return tag_tokens("}}", Tok::variable_end);
  }

  // The text [start, end) less what the tag after it strips: all white space for '-', for a plain block or
  // comment the blanks on its own line (lstrip_blocks).
  std::string_view strip_before(size_t start, size_t end, char sign, bool line_starting) const {
    const std::string_view text = std::string_view(source_).substr(start, end - start);
    if (sign == '-') {
      size_t keep = text.size();
      while (keep > 0) {
        size_t last = keep - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) last--;
        size_t length = 0;
        if (!is_space(decode_at(text, last, length))) break;
        keep = last;
      }
      return text.substr(0, keep);
    }
    if (sign == '+') return text;
    const size_t line = text.rfind('\n') + 1;  // npos + 1 is 0
    if ((line == 0 && !line_starting) || skip_space(start + line) < end) return text;
    return text.substr(0, line);
  }

  // Reads the end of a block or comment: -%} strips what follows, %} one newline (trim_blocks), +%} nothing.
  bool close(std::string_view delimiter) {
    size_t at = at_;
    char sign = 0;
    if (at < source_.size() && (source_[at] == '-' || source_[at] == '+')) sign = source_[at++];
    if (!std::string_view(source_).substr(at).starts_with(delimiter)) return false;
    if (sign == '+' && delimiter == "}}") return false;
    at += delimiter.size();
    if (sign == '-') {
      at = skip_space(at);
    } else if (sign == 0 && delimiter != "}}" && at < source_.size() && source_[at] == '\n') {
      at++;
    }
    at_ = at;
    line_starting_ = source_[at - 1] == '\n';
    return true;
  }

  // What is opened by the last characters of the template is nothing, to Jinja2: here, and of raw blocks.
  Result<> comment(size_t tag) {
    const size_t body = at_ + (next_is("-") || next_is("+") ? 1 : 0);
    if (body == source_.size()) at_ = body;
    if (at_ == source_.size()) return {};
    while (at_ < source_.size()) {
      if (close("#}")) return {};
      at_++;
    }
    return fail_at(position(tag), "comment is not closed; expected '#}}'");
  }

  // After "{%": the offset of the body if this is a raw tag, else 0.
  size_t raw_start() const {
    size_t at = skip_space(at_);
    if (!std::string_view(source_).substr(at).starts_with("raw")) return 0;
    at = skip_space(at + 3);
    const std::string_view end = std::string_view(source_).substr(at);
    if (end.starts_with("-%}")) return skip_space(at + 3);
    return end.starts_with("%}") ? at + 2 : 0;
  }

  Result<> raw(size_t tag, size_t body) {
    if (body == source_.size()) {
      at_ = body;
      return {};
    }
    const bool line_starting = source_[body - 1] == '\n';
    for (size_t end = source_.find("{%", body); end != std::string::npos; end = source_.find("{%", end + 1)) {
      at_ = end + 2;
      char sign = 0;
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) sign = source_[at_++];
      at_ = skip_space(at_);
      if (!next_is("endraw")) continue;
      at_ = skip_space(at_ + 6);
      if (!close("%}")) continue;
      const std::string_view text = strip_before(body, end, sign, line_starting);
      if (!text.empty()) add(Tok::data, body, std::string(text));
      return {};
    }
    return fail_at(position(tag), "raw block is not closed; expected '{{% endraw %}}'");
  }

  Result<> tag_tokens(std::string_view delimiter, Tok end) {
    const size_t tag = at_;
    std::vector<char> open;  // closing brackets that are due
    while (at_ < source_.size()) {
      at_ = skip_space(at_);
      if (at_ >= source_.size()) break;
      const size_t start = at_;
      if (open.empty() && close(delimiter)) {
        add(end, start, std::string(delimiter));
        return {};
      }
      TRY(token(open));
    }
    return fail_at(position(tag), "tag is not closed; expected '{}'", delimiter);
  }

  Result<> token(std::vector<char>& open) {
    const char c = source_[at_];
    if (c >= '0' && c <= '9') return number();
    if (c == '"' || c == '\'') return string();
    size_t length = 0;
    if (is_name_start(decode_at(source_, at_, length))) return name();
    return op(open);
  }

  Result<> name() {
    const size_t start = at_;
    size_t length = 0;
    while (at_ < source_.size() && is_name_continue(decode_at(source_, at_, length))) at_ += length;
    add(Tok::name, start, source_.substr(start, at_ - start));
    return {};
  }

  // End of "digits, single underscores between them" from `at`, or `at` if there are none.
  size_t digits(size_t at, int base) const {
    if (at >= source_.size() || !is_digit_of(source_[at], base)) return at;
    while (true) {
      while (at < source_.size() && is_digit_of(source_[at], base)) at++;
      if (at + 1 < source_.size() && source_[at] == '_' && is_digit_of(source_[at + 1], base)) {
        at++;
      } else {
        return at;
      }
    }
  }

  Result<> number() {
    const size_t start = at_;
    const bool after_dot = start > 0 && source_[start - 1] == '.';
    const size_t whole = digits(start, 10);
    size_t end = whole;
    if (!after_dot) {
      if (end + 1 < source_.size() && source_[end] == '.') end = std::max(end, fraction(end));
      end = exponent(end);
    }
    if (end > whole) return real(start, end);
    int base = 10;
    end = whole;
    if (source_[start] == '0' && start + 1 < source_.size()) {
      const char x = static_cast<char>(source_[start + 1] | 32);
      const int other = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 0;
      const size_t from =
          other == 0 ? 0 : start + 2 + (start + 2 < source_.size() && source_[start + 2] == '_');
      if (other != 0 && digits(from, other) > from) {
        base = other;
        end = digits(from, other);
      } else {  // a decimal that begins with zero is zero only
        end = start + 1;
        while (end < source_.size() &&
               (source_[end] == '0' ||
                (source_[end] == '_' && end + 1 < source_.size() && source_[end + 1] == '0'))) {
          end++;
        }
      }
    }
    return integer(start, end, base);
  }

  size_t fraction(size_t dot) const {
    const size_t end = digits(dot + 1, 10);
    return end > dot + 1 ? end : 0;
  }

  size_t exponent(size_t end) const {
    if (end >= source_.size() || (source_[end] | 32) != 'e') return end;
    size_t at = end + 1;
    if (at < source_.size() && (source_[at] == '+' || source_[at] == '-')) at++;
    const size_t stop = digits(at, 10);
    return stop > at ? stop : end;
  }

  std::string without_underscores(size_t start, size_t end) const {
    std::string text = source_.substr(start, end - start);
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    return text;
  }

  Result<> real(size_t start, size_t end) {
    const std::string text = without_underscores(start, end);
    Token& token = add(Tok::real, start, text);
    const auto result = std::from_chars(text.data(), text.data() + text.size(), token.real);
    if (result.ec == std::errc::result_out_of_range) {  // as Python: too large is infinite, too small is zero
      const size_t e = text.find_first_of("eE");
      token.real =
          e != std::string::npos && text[e + 1] == '-' ? 0.0 : std::numeric_limits<double>::infinity();
    }
    at_ = end;
    return {};
  }

  Result<> integer(size_t start, size_t end, int base) {
    const std::string text = without_underscores(start, end);
    Int value = 0;
    for (const char c : std::string_view(text).substr(base == 10 ? 0 : 2)) {
      const int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
      if (__builtin_mul_overflow(value, Int{base}, &value) ||
          __builtin_add_overflow(value, Int{digit}, &value)) {
        return fail_at(position(start), "integer {} is too large", text);
      }
    }
    add(Tok::integer, start, text).integer = value;
    at_ = end;
    return {};
  }

  Result<> string() {
    const size_t start = at_;
    const char quote = source_[at_++];
    std::string out;
    while (at_ < source_.size() && source_[at_] != quote) {
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        at_++;
        TRY(escape(start, out));
      } else {
        out.push_back(source_[at_++]);
      }
    }
    if (at_ >= source_.size()) return fail_at(position(start), "string is not closed");
    at_++;
    add(Tok::string, start, std::move(out));
    return {};
  }

  // One escape sequence of Python's, after the backslash.
  Result<> escape(size_t start, std::string& out) {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    const char c = source_[at_];
    if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
      out.push_back(kTo[i]);
      at_++;
    } else if (c == '\n') {
      at_++;
    } else if (c >= '0' && c <= '7') {
      char32_t value = 0;
      for (int n = 0; n < 3 && at_ < source_.size() && is_digit_of(source_[at_], 8); n++) {
        value = value * 8 + static_cast<char32_t>(source_[at_++] - '0');
      }
      append_utf8(out, value);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      return hex_escape(start, c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
    } else if (c == 'N') {
      return fail_at(position(start), "character names (\\N{{...}}) are not supported; use \\u escapes");
    } else {
      out.push_back('\\');  // not an escape: both characters stay
      escape_name(out);
    }
    return {};
  }

  // Jinja writes characters beyond ASCII as escapes before it reads those: of one behind a backslash the text stays.
  void escape_name(std::string& out) {
    size_t length = 0;
    const auto value = static_cast<uint32_t>(decode_at(source_, at_, length));
    if (value < 0x80) return;
    out += value <= 0xFF     ? fmt::format("x{:02x}", value)
           : value <= 0xFFFF ? fmt::format("u{:04x}", value)
                             : fmt::format("U{:08x}", value);
    at_ += length;
  }

  Result<> hex_escape(size_t start, int count, std::string& out) {
    char32_t value = 0;
    at_++;
    for (int n = 0; n < count; n++, at_++) {
      if (at_ >= source_.size() || !is_digit_of(source_[at_], 16)) {
        return fail_at(position(start), "truncated hexadecimal escape in a string");
      }
      const char c = source_[at_];
      value = value * 16 + static_cast<char32_t>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
      return fail_at(position(start), "escape U+{:X} in a string is not a character",
                     static_cast<uint32_t>(value));
    }
    append_utf8(out, value);
    return {};
  }

  Result<> op(std::vector<char>& open) {
    static constexpr std::array<std::string_view, 26> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};
    for (const std::string_view symbol : kOperators) {
      if (!next_is(symbol)) continue;
      const char c = symbol[0];
      if (c == '(' || c == '[' || c == '{') open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
      if (c == ')' || c == ']' || c == '}') {
        if (open.empty()) return fail_at(position(at_), "unexpected '{}'", c);
        if (open.back() != c) return fail_at(position(at_), "unexpected '{}', expected '{}'", c, open.back());
        open.pop_back();
      }
      add(Tok::op, at_, std::string(symbol));
      at_ += symbol.size();
      return {};
    }
    size_t length = 0;
    decode_at(source_, at_, length);
    return fail_at(position(at_), "unexpected character '{}'", source_.substr(at_, length));
  }

  std::string source_;
  size_t at_ = 0;
  bool line_starting_ = true;  // whether the text before at_ ended a line
  std::vector<Token> tokens_;
  size_t counted_ = 0, line_start_ = 0;  // how far lines are counted
  uint32_t line_ = 1;
};

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view source) {
  if (!valid_utf8(source)) return fail("template is not valid UTF-8");
  return Lexer(normalize_newlines(source, true)).run();
}

}  // namespace brass::jinja
