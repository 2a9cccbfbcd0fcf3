// ECMA-262 patterns (with the u flag; where that flag makes an error of what schemas in the field hold, such as a lone
// '{' or an escaped '-', the older meaning is taken).
#include <algorithm>

#include "text/grammar/regex_ast.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

using Kind = PatternNode::Kind;

constexpr size_t kLongestPattern = 65'536;
constexpr int kDeepest = 200;
constexpr int kMostCount = 1'000'000'000;

PatternNode set_of(CodePoints points, size_t place) {
  PatternNode node;
  node.kind = Kind::kSet;
  node.points = std::move(points);
  node.place = place;
  return node;
}

bool is_digit(int c) { return c >= '0' && c <= '9'; }
int hex_value(int c) {
  if (is_digit(c)) return c - '0';
  const int lower = c | 0x20;
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<PatternNode> parse() {
    if (text_.size() > kLongestPattern) return wrong_use("pattern: {} bytes are too many", text_.size());
    if (tokens::valid_utf8_end(text_, 0) < text_.size()) return wrong_use("pattern: not valid UTF-8");
    PatternNode root = TRY(alternatives(0));
    if (at_ < text_.size()) return error(at_, "')' closes nothing");
    return root;
  }

 private:
  template <class... Args>
  std::unexpected<Error> error(size_t place, fmt::format_string<Args...> what, Args&&... args) const {
    return wrong_use("pattern '{}', at byte {}: {}", shortened(), place,
                     fmt::format(what, std::forward<Args>(args)...));
  }
  std::string shortened() const {
    if (text_.size() <= 80) return std::string(text_);
    size_t end = 77;
    while (end > 0 && (static_cast<uint8_t>(text_[end]) & 0xC0) == 0x80) --end;
    return std::string(text_.substr(0, end)) + "...";
  }
  int peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? static_cast<uint8_t>(text_[at_ + ahead]) : -1;
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  char32_t take_point() {
    const tokens::Utf8Step step = tokens::utf8_step(text_, at_);
    at_ += step.length;
    return step.code;
  }

  Result<PatternNode> alternatives(int depth) {
    if (depth > kDeepest) return error(at_, "groups are nested more than {} deep", kDeepest);
    PatternNode out;
    out.kind = Kind::kOr;
    do {
      out.parts.push_back(TRY(sequence(depth)));
      out.asserts |= out.parts.back().asserts;
    } while (take("|"));
    if (out.parts.size() > 1) return out;
    return PatternNode(std::move(out.parts[0]));
  }

  Result<PatternNode> sequence(int depth) {
    PatternNode out;
    out.kind = Kind::kConcat;
    while (at_ < text_.size() && peek() != '|' && peek() != ')') {
      const size_t place = at_;
      PatternNode part = TRY(atom(depth));
      const bool assertion = part.kind >= Kind::kStart;
      out.parts.push_back(TRY(quantified(std::move(part), assertion, place)));
      out.asserts |= out.parts.back().asserts;
    }
    if (out.parts.size() == 1) return PatternNode(std::move(out.parts[0]));
    return out;
  }

  Result<PatternNode> quantified(PatternNode part, bool assertion, size_t place) {
    int min, max;
    if (!TRY(take_counts(min, max))) return part;
    if (assertion) return error(place, "an assertion cannot be repeated");
    take("?");  // lazy: the same language
    PatternNode out;
    out.kind = Kind::kRepeat;
    out.min = min, out.max = max;
    out.place = place;
    out.asserts = part.asserts;
    out.parts.push_back(std::move(part));
    if (int other; TRY(take_counts(min, other))) return error(at_ - 1, "a quantifier follows a quantifier");
    return out;
  }

  // The quantifier here, if there is one.
  Result<bool> take_counts(int& min, int& max) {
    if (take("*")) return min = 0, max = -1, true;
    if (take("+")) return min = 1, max = -1, true;
    if (take("?")) return min = 0, max = 1, true;
    if (peek() != '{' || !is_digit(peek(1))) return false;
    const size_t place = at_++;
    min = max = take_number();
    if (take(",")) max = is_digit(peek()) ? take_number() : -1;
    if (!take("}")) return at_ = place, false;  // a literal brace
    if (max >= 0 && min > max) return error(place, "the counts {{{},{}}} are out of order", min, max);
    return true;
  }
  int take_number() {
    int64_t value = 0;
    while (is_digit(peek())) value = std::min<int64_t>(value * 10 + (text_[at_++] - '0'), kMostCount);
    return static_cast<int>(value);
  }

  PatternNode assertion(Kind kind, size_t place) {
    PatternNode node;
    node.kind = kind;
    node.place = place;
    node.asserts = true;
    return node;
  }

  Result<PatternNode> atom(int depth) {
    const size_t place = at_;
    switch (peek()) {
      case '^':
        return ++at_, assertion(Kind::kStart, place);
      case '$':
        return ++at_, assertion(Kind::kEnd, place);
      case '.':
        return ++at_, set_of(complement({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}), place);
      case '(':
        return group(depth);
      case '[':
        return bracket();
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        return error(place, "'{}' has nothing to repeat", text_[place]);
      case '{':
        if (int min, max; TRY(take_counts(min, max))) return error(place, "a count has nothing to repeat");
        break;
      default:
        break;
    }
    const char32_t point = take_point();
    return set_of({{point, point}}, place);
  }

  Result<PatternNode> group(int depth) {
    const size_t place = at_++;
    Kind look = Kind::kEmpty;
    if (take("?=")) {
      look = Kind::kAhead;
    } else if (take("?!")) {
      look = Kind::kNotAhead;
    } else if (take("?<=") || take("?<!")) {
      return error(place, "look-behind is not supported");
    } else if (take("?<") || take("?P<")) {
      const size_t end = text_.find('>', at_);
      if (end == std::string_view::npos || end == at_) return error(place, "the group's name is not closed");
      at_ = end + 1;
    } else if (peek() == '?' && !take("?:")) {
      return error(place, "the group '(?{}' is not supported",
                   at_ + 1 < text_.size() ? text_.substr(at_ + 1, 1) : "");
    }
    PatternNode inner = TRY(alternatives(depth + 1));
    if (!take(")")) return error(place, "the group is not closed");
    if (look == Kind::kEmpty) return inner;
    PatternNode out = assertion(look, place);
    out.parts.push_back(std::move(inner));
    return out;
  }

  Result<PatternNode> bracket() {
    const size_t place = at_++;
    const bool negated = take("^");
    CodePoints points;
    for (;;) {
      if (at_ >= text_.size()) return error(place, "the class is not closed");
      if (take("]")) break;
      CodePoints low = TRY(class_atom());
      const bool range = peek() == '-' && peek(1) >= 0 && peek(1) != ']';
      if (range && low.size() == 1 && low[0].first == low[0].second) {
        const size_t dash = at_++;
        const CodePoints high = TRY(class_atom());
        if (high.size() == 1 && high[0].first == high[0].second) {
          if (low[0].first > high[0].first) return error(dash, "the range in the class is out of order");
          points.emplace_back(low[0].first, high[0].first);
          continue;
        }
        points.emplace_back('-', '-');  // [a-\d]: the dash is itself
        points.insert(points.end(), high.begin(), high.end());
      }
      points.insert(points.end(), low.begin(), low.end());
    }
    points = normalized(std::move(points));
    return set_of(negated ? complement(points) : std::move(points), place);
  }

  Result<CodePoints> class_atom() {
    if (peek() != '\\') {
      const char32_t point = take_point();
      return CodePoints{{point, point}};
    }
    if (text_.substr(at_).starts_with("\\b")) return at_ += 2, CodePoints{{8, 8}};
    if (text_.substr(at_).starts_with("\\B")) return error(at_, "\\B has no meaning in a class");
    return TRY(escape()).points;
  }

  Result<PatternNode> escape() {
    const size_t place = at_++;
    if (at_ >= text_.size()) return error(place, "the pattern ends in a backslash");
    const char32_t c = take_point();
    const auto one = [&](char32_t point) { return set_of({{point, point}}, place); };
    switch (c) {
      case 'd':
        return set_of(digit_points(), place);
      case 'D':
        return set_of(complement(digit_points()), place);
      case 'w':
        return set_of(word_points(), place);
      case 'W':
        return set_of(complement(word_points()), place);
      case 's':
        return set_of(space_points(), place);
      case 'S':
        return set_of(complement(space_points()), place);
      case 'b':
        return assertion(Kind::kBoundary, place);
      case 'B':
        return assertion(Kind::kInside, place);
      case 't':
        return one('\t');
      case 'n':
        return one('\n');
      case 'v':
        return one('\v');
      case 'f':
        return one('\f');
      case 'r':
        return one('\r');
      case '0':
        if (is_digit(peek())) return error(place, "octal escapes are not supported");
        return one(0);
      case 'c':
        if (const int letter = peek() | 0x20; letter >= 'a' && letter <= 'z')
          return ++at_, one(static_cast<char32_t>(letter & 0x1F));
        return error(place, "\\c needs a letter");
      case 'x':
        return one(TRY(hex_digits(2, place)));
      case 'u':
        return one(TRY(unicode_escape(place)));
      case 'p':
      case 'P':
        return property(c == 'P', place);
      case 'k':
        return error(place, "back-references (\\k) are not supported");
      default:
        break;
    }
    if (c >= '1' && c <= '9')
      return error(place, "back-references (\\{}) are not supported", static_cast<char>(c));
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      return error(place, "the escape \\{} is not known", static_cast<char>(c));
    return one(c);
  }

  Result<char32_t> hex_digits(int count, size_t place) {
    char32_t value = 0;
    for (int i = 0; i < count; ++i) {
      const int digit = hex_value(peek());
      if (digit < 0) return error(place, "the escape needs {} hexadecimal digits", count);
      value = value << 4 | static_cast<char32_t>(digit);
      ++at_;
    }
    return value;
  }

  Result<char32_t> unicode_escape(size_t place) {
    char32_t value = 0;
    if (take("{")) {
      const size_t begin = at_;
      for (; hex_value(peek()) >= 0 && value <= kLastPoint; ++at_)
        value = value << 4 | static_cast<char32_t>(hex_value(peek()));
      if (at_ == begin || !take("}"))
        return error(place, "\\u{{…}} needs hexadecimal digits between the braces");
    } else {
      value = TRY(hex_digits(4, place));
      if (value >= 0xD800 && value < 0xDC00 && take("\\u")) {
        const char32_t low = TRY(hex_digits(4, place));
        if (low < 0xDC00 || low > 0xDFFF) return error(place, "half a surrogate pair is no character");
        return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
      }
    }
    if (value > kLastPoint) return error(place, "there is no code point above 10FFFF");
    if (value >= 0xD800 && value <= 0xDFFF) return error(place, "half a surrogate pair is no character");
    return value;
  }

  Result<PatternNode> property(bool negated, size_t place) {
    const size_t end = text_.find('}', at_);
    if (!take("{") || end == std::string_view::npos) return error(place, "\\p needs a name in braces");
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    const CodePoints* points = property_points(name);
    if (points == nullptr) return error(place, "the property \\p{{{}}} is not supported", name.substr(0, 40));
    return set_of(negated ? complement(*points) : *points, place);
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<PatternNode> parse_pattern(std::string_view pattern) { return Parser(pattern).parse(); }

Result<RegexId> RegexArena::parse(std::string_view pattern, RegexSyntax syntax) {
  const PatternNode root = TRY(parse_pattern(pattern));
  return translate_pattern(*impl_, root, syntax);
}

}  // namespace brass::grammar
