#include "text/grammar/lark_regex.h"

#include <optional>
#include <vector>

#include "text/grammar/code_points.h"
#include "text/grammar/source_text.h"

namespace brass::grammar::lark {
namespace {

struct Flags {
  bool any_case = false, dot_is_all = false, verbose = false, lines = false;
};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  Result<std::string> run(std::string_view flags) {
    for (const char c : flags) TRY_VOID(set_flag(c, true));
    while (!in_.at_end()) TRY_VOID(step());
    return std::move(out_);
  }

 private:
  std::unexpected<Error> refuse(std::string_view what) const {
    return wrong_use("{} (character {} of the expression)", what, in_.place().column);
  }

  Result<> set_flag(char c, bool on) {
    switch (c) {
      case 'i':
        flags_.any_case = on;
        return {};
      case 's':
        flags_.dot_is_all = on;
        return {};
      case 'x':
        flags_.verbose = on;
        return {};
      case 'm':
        flags_.lines = on;
        return {};
      case 'u':
        return {};
      default:
        return refuse(fmt::format("the flag '{}' is not supported", c));
    }
  }

  Result<> step() {
    const char c = in_.peek();
    if (flags_.verbose && skip_verbose()) return {};
    if (c == '\\') return escape();
    if (c == '[') return char_class();
    if (c == '(') return open();
    if (c == ')') return close();
    if (c == '{' || c == '*' || c == '+' || c == '?') return quantifier();
    if ((c == '^' || c == '$') && flags_.lines)
      return refuse("'^' and '$' with the flag m are not supported");
    if (c == '.') {
      in_.skip();
      out_ += flags_.dot_is_all ? "[\\s\\S]" : "[^\\n]";
    } else if (c == '^' || c == '$' || c == '|') {
      out_ += c;
      in_.skip();
    } else {
      put(in_.next());
    }
    return {};
  }

  // Blanks and comments of the flag x.
  bool skip_verbose() {
    const char c = in_.peek();
    if (c == '#') {
      while (!in_.at_end() && in_.peek() != '\n') in_.skip();
      return true;
    }
    const bool blank = c == ' ' || (c >= '\t' && c <= '\r');
    if (blank) in_.skip();
    return blank;
  }

  // ---- characters

  static void put_code(std::string& out, char32_t c) {
    if (is_digit(static_cast<char>(c)) && c < 0x80)
      out += static_cast<char>(c);
    else if (c < 0x80 && is_word_start(static_cast<char>(c)))
      out += static_cast<char>(c);
    else
      out += fmt::format("\\u{{{:X}}}", static_cast<uint32_t>(c));
  }

  static void put_range(std::string& out, char32_t low, char32_t high) {
    put_code(out, low);
    if (high == low) return;
    out += '-';
    put_code(out, high);
  }

  // One character, in every case if that does not count.
  void put(char32_t c) {
    const CodePoints one = {{c, c}};
    const CodePoints all = flags_.any_case ? any_case(one) : one;
    if (all.size() == 1 && all[0] == one[0]) return put_code(out_, c);
    out_ += '[';
    for (const auto& [low, high] : all) put_range(out_, low, high);
    out_ += ']';
  }

  // Behind a backslash: the character that is meant, or none: the escape is a set or an assertion.
  Result<std::optional<char32_t>> escaped_character() {
    const char c = in_.peek();
    in_.skip();
    switch (c) {
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 't':
        return U'\t';
      case 'f':
        return U'\f';
      case 'v':
        return U'\v';
      case 'a':
        return U'\a';
      case 'x':
        return TRY(read_hex(in_, 2));
      case 'u': {
        const bool braces = in_.peek() == '{';
        return braces ? TRY(braced_code()) : TRY(read_hex(in_, 4));
      }
      case 'U':
        return TRY(read_hex(in_, 8));
      case '0':
        if (!is_digit(in_.peek())) return U'\0';
        return refuse("octal escapes are not supported");
      default:
        break;
    }
    if (is_word_start(c) || is_digit(c)) return std::nullopt;
    return static_cast<char32_t>(c);
  }

  Result<char32_t> braced_code() {
    in_.skip();
    const size_t begin = in_.offset();
    while (!in_.at_end() && in_.peek() != '}') in_.skip();
    const std::string digits(in_.from(begin));
    if (!in_.take("}") || digits.empty() || digits.size() > 8) return refuse("\\u{…} needs a code point");
    SourceText number(digits);
    return read_hex(number, static_cast<int>(digits.size()));
  }

  // A set (\d \w \s \p{…} and their opposites) is handed on; \b and the like too, to be refused by name.
  void hand_on_escape(std::string& out, char letter) {
    out += '\\';
    out += letter;
    if ((letter != 'p' && letter != 'P') || in_.peek() != '{') return;
    const size_t begin = in_.offset();
    while (!in_.at_end() && in_.peek() != '}') in_.skip();
    in_.skip();
    out += in_.from(begin);
  }

  Result<> escape() {
    in_.skip();
    if (in_.at_end()) return refuse("a backslash at the end");
    if (static_cast<uint8_t>(in_.peek()) >= 0x80) return put(in_.next()), Result<>{};
    const char letter = in_.peek();
    if (letter == 'A' || letter == 'Z' || letter == 'z' || letter == 'N')
      return refuse(fmt::format("'\\{}' is not supported", letter));
    const std::optional<char32_t> c = TRY(escaped_character());
    if (c)
      put(*c);
    else
      hand_on_escape(out_, letter);
    return {};
  }

  // ---- classes

  struct Member {
    std::optional<char32_t> point;
    char letter = 0;  // of a set, where there is no point
  };

  Result<Member> member() {
    if (in_.peek() != '\\') return Member{.point = in_.next()};
    in_.skip();
    if (in_.at_end()) return refuse("the class has no end");
    if (static_cast<uint8_t>(in_.peek()) >= 0x80) return Member{.point = in_.next()};
    const char letter = in_.peek();
    in_.peek() == 'b' ? in_.skip() : void();
    if (letter == 'b') return Member{.point = U'\b'};
    return Member{.point = TRY(escaped_character()), .letter = letter};
  }

  Result<> char_class() {
    in_.skip();
    std::string sets;
    CodePoints points;
    const bool negated = in_.take("^");
    for (bool first = true; first || in_.peek() != ']'; first = false) {
      if (in_.at_end()) return refuse("the class has no end");
      if (in_.starts_with("[:")) return refuse("'[:…:]' in a class is not supported");
      const Member low = TRY(member());
      if (!low.point) {
        hand_on_escape(sets, low.letter);
        continue;
      }
      char32_t high = *low.point;
      if (in_.peek() == '-' && in_.peek(1) != ']' && in_.peek(1) != '\0') {
        in_.skip();
        const Member end = TRY(member());
        if (!end.point) return refuse("a range that ends in a set");
        high = *end.point;
      }
      if (high < *low.point) return refuse("a range of characters that ends before it begins");
      points.emplace_back(*low.point, high);
    }
    in_.skip();
    points = normalized(std::move(points));
    if (flags_.any_case) points = any_case(points);
    out_ += negated ? "[^" : "[";
    for (const auto& [low, high] : points) put_range(out_, low, high);
    out_ += sets + "]";
    return {};
  }

  // ---- groups and repetitions

  Result<> open() {
    if (groups_.size() >= kMaxNesting)
      return refuse(fmt::format("groups are nested more than {} deep", kMaxNesting));
    const Flags outside = flags_;
    in_.skip();
    bool whole = false;  // (?i) without a ':' lasts to the end of the group that it is in
    if (!in_.starts_with("?")) {
      out_ += '(';
    } else if (in_.take("?P<") ||
               (in_.starts_with("?<") && in_.peek(2) != '=' && in_.peek(2) != '!' && in_.take("?<"))) {
      while (!in_.at_end() && in_.peek() != '>') in_.skip();
      if (!in_.take(">")) return refuse("the name of a group has no end");
      out_ += "(?:";
    } else if (in_.take("?:")) {
      out_ += "(?:";
    } else if (in_.starts_with("?=") || in_.starts_with("?!") || in_.starts_with("?<")) {
      return refuse("look-ahead and look-behind are not supported");
    } else {
      in_.skip();
      whole = TRY(inline_flags());
    }
    if (!whole) groups_.push_back(outside);
    return {};
  }

  // (?i-s:…) or (?i). True for the latter.
  Result<bool> inline_flags() {
    bool on = true, any = false;
    for (; in_.peek() != ':' && in_.peek() != ')'; in_.skip()) {
      if (in_.at_end()) return refuse("a group has no end");
      if (in_.peek() == '-' && on) {
        on = false;
      } else {
        if (!is_word_start(in_.peek())) return refuse(fmt::format("'(?{}' is not supported", in_.peek()));
        TRY_VOID(set_flag(in_.peek(), on));
      }
      any = true;
    }
    if (!any) return refuse("'(?' without flags");
    const bool whole = in_.peek() == ')';
    in_.skip();
    if (!whole) out_ += "(?:";
    return whole;
  }

  Result<> close() {
    if (groups_.empty()) return refuse("a ')' without '('");
    flags_ = groups_.back();
    groups_.pop_back();
    in_.skip();
    out_ += ')';
    return {};
  }

  // A '{' that begins no count is text.
  Result<> quantifier() {
    if (in_.peek() == '{') {
      SourceText here = in_;
      here.skip();
      const size_t begin = here.offset();
      while (is_digit(here.peek()) || here.peek() == ',') here.skip();
      const std::string counts(here.from(begin));
      const bool counted = counts.find_first_of("0123456789") != std::string::npos &&
                           counts.find(',') == counts.rfind(',') && here.peek() == '}';
      if (!counted) return put(in_.next()), Result<>{};
      out_ += counts.starts_with(',') ? "{0" + counts + "}" : "{" + counts + "}";
      here.skip();
      in_ = here;
    } else {
      out_ += in_.peek();
      in_.skip();
    }
    if (in_.peek() == '?')
      return refuse(
          "a repetition that takes as little as it can ('*?' and the like) is not supported: say what it may "
          "not hold");
    if (in_.peek() == '+') return refuse("a repetition that gives nothing back ('*+') is not supported");
    return {};
  }

  SourceText in_;
  std::string out_;
  Flags flags_;
  std::vector<Flags> groups_;  // what held outside
};

}  // namespace

Result<std::string> translate_pattern(std::string_view pattern, std::string_view flags) {
  return Translator(pattern).run(flags);
}

}  // namespace brass::grammar::lark
