#include "text/grammar/gbnf.h"

#include <algorithm>

#include "text/grammar/code_points.h"
#include "text/grammar/ebnf.h"
#include "text/grammar/notation_text.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {
namespace {

using ExprId = Ebnf::ExprId;

constexpr NotationStyle kStyle{.letters = "nrt", .themselves = "\\\"[]-^"};

bool is_name(char c) { return is_word_start(c) || is_digit(c) || c == '-'; }

class GbnfParser : private NotationText {
 public:
  explicit GbnfParser(std::string_view source) : NotationText(source, kStyle) {}

  Result<std::shared_ptr<const Grammar>> run() {
    skip_blanks(true);
    while (!in_.at_end()) TRY_VOID(definition());
    return std::move(rules_).build("root");
  }

 private:
  std::string_view name() {
    const size_t begin = in_.offset();
    while (is_name(in_.peek())) in_.skip();
    return in_.from(begin);
  }

  Result<> definition() {
    const Place place = in_.place();
    const std::string_view rule = name();
    if (rule.empty()) return fail_at(place, "{} where the name of a rule is expected", in_.describe());
    skip_blanks(false);
    if (!in_.take("::=")) return fail_at(in_.place(), "{} where '::=' is expected", in_.describe());
    skip_blanks(true);
    const ExprId body = TRY(alternatives(0));
    if (!in_.at_end() && !at_line_end())
      return fail_at(in_.place(), "{} is not part of a rule", in_.describe());
    TRY_VOID(rules_.define(rule, body, place));
    skip_blanks(true);
    return {};
  }

  Result<ExprId> alternatives(int depth) {
    std::vector<ExprId> list;
    do {
      if (!list.empty()) {
        in_.skip();
        skip_blanks(true);
      }
      list.push_back(TRY(sequence(depth)));
    } while (in_.peek() == '|' || (depth == 0 && goes_on()));
    return rules_.choice(list);
  }

  Result<ExprId> sequence(int depth) {
    std::vector<ExprId> parts;
    for (;;) {
      const char c = in_.peek();
      if (in_.at_end() || c == '|' || c == ')' || c == '\n' || c == '\r') break;
      ExprId item = TRY(this->item(depth));
      skip_blanks(depth > 0);
      item = TRY(repetitions(item, depth));
      parts.push_back(item);
    }
    return rules_.sequence(parts);
  }

  Result<ExprId> item(int depth) {
    const Place place = in_.place();
    const char c = in_.peek();
    if (c == '"') return literal();
    if (c == '[') return char_class();
    if (c == '(') return group(depth);
    if (in_.take(".")) return rules_.regex(rules_.regexes().set(all_code_points()), 1);
    if (is_name(c)) return rules_.reference(name(), place);
    if (c == '<' || c == '!')
      return fail_at(place, "matching single tokens (<token>, <[id]>, !<token>) is not supported");
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return fail_at(place, "{} has nothing to repeat", in_.describe());
    return fail_at(place, "{} is not part of a rule", in_.describe());
  }

  Result<ExprId> group(int depth) {
    const Place place = in_.place();
    if (depth >= kMaxNesting) return fail_at(place, "brackets are nested more than {} deep", kMaxNesting);
    in_.skip();
    skip_blanks(true);
    const ExprId inner = TRY(alternatives(depth + 1));
    if (!in_.take(")"))
      return fail_at(in_.place(), "{} where ')' is expected for the '(' in line {}, column {}",
                     in_.describe(), place.line, place.column);
    return inner;
  }

  Result<ExprId> repetitions(ExprId item, int depth) {
    for (int count = 0;; count++) {
      const Place place = in_.place();
      if (in_.take("*")) {
        item = rules_.repeat(item, 0, -1);
      } else if (in_.take("+")) {
        item = rules_.repeat(item, 1, -1);
      } else if (in_.take("?")) {
        item = rules_.repeat(item, 0, 1);
      } else if (in_.take("{")) {
        item = TRY(counted(item, depth, place));
      } else {
        return item;
      }
      if (count >= kMaxRepetitions)
        return fail_at(place, "more than {} repetitions of one item", kMaxRepetitions);
      skip_blanks(depth > 0);
    }
  }

  Result<ExprId> counted(ExprId item, int depth, Place place) {
    const bool lines = depth > 0;
    skip_blanks(lines);
    const int min = TRY(read_count(in_));
    int max = min;
    skip_blanks(lines);
    if (in_.take(",")) {
      skip_blanks(lines);
      max = is_digit(in_.peek()) ? TRY(read_count(in_)) : -1;
      skip_blanks(lines);
    }
    if (!in_.take("}")) return fail_at(in_.place(), "{} where '}}' is expected", in_.describe());
    if (max >= 0 && max < min) return fail_at(place, "{{{},{}}}: the counts are out of order", min, max);
    return rules_.repeat(item, min, max);
  }

  Result<ExprId> literal() {
    const Place place = in_.place();
    in_.skip();
    std::string text;
    while (in_.peek() != '"') {
      if (in_.at_end()) return fail_at(place, "the string has no end");
      tokens::append_utf8(text, TRY(character()));
    }
    in_.skip();
    return rules_.text(std::move(text));
  }

  Result<ExprId> char_class() {
    const Place place = in_.place();
    in_.skip();
    const bool negated = in_.take("^");
    CodePoints points;
    while (in_.peek() != ']') {
      if (in_.at_end()) return fail_at(place, "the class has no end");
      const Place from = in_.place();
      const char32_t low = TRY(character());
      char32_t high = low;
      if (in_.peek() == '-' && in_.peek(1) != ']') {
        in_.skip();
        if (in_.at_end()) return fail_at(place, "the class has no end");
        high = TRY(character());
      }
      if (high < low) return fail_at(from, "a range of characters that ends before it begins");
      points.emplace_back(low, high);
    }
    in_.skip();
    if (points.empty()) return fail_at(place, "an empty class");
    points = normalized(std::move(points));
    return rules_.regex(rules_.regexes().set(negated ? complement(points) : points), 1);
  }

  Ebnf rules_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> grammar_from_gbnf(std::string_view source) {
  const auto parse = [&]() -> Result<std::shared_ptr<const Grammar>> {
    TRY_VOID(check_source(source));
    return GbnfParser(source).run();
  };
  return within("grammar", parse());
}

}  // namespace brass::grammar
