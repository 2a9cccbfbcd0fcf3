#include "text/grammar/lark_ast.h"
#include "text/grammar/notation_text.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar::lark {
namespace {

constexpr NotationStyle kStyle{
    .slashes = true, .joined_lines = true, .letters = "nrtf", .themselves = "\\\"/"};

bool is_name(char c) { return is_word_start(c) || is_digit(c) || c == '-'; }

class Parser : private NotationText {
 public:
  explicit Parser(std::string_view source) : NotationText(source, kStyle) {}

  Result<Document> run() {
    skip_blanks(true);
    while (!in_.at_end()) {
      TRY_VOID(in_.peek() == '%' ? statement() : definition());
      skip_blanks(false);
      if (!in_.at_end() && !at_line_end())
        return fail_at(in_.place(), "{} where the line should end", in_.describe());
      skip_blanks(true);
    }
    return std::move(document_);
  }

 private:
  // ---- names, lines

  // A '-' may stand inside of a name, not before "->".
  std::string name() {
    const size_t begin = in_.offset();
    if (is_word_start(in_.peek()))
      while (is_name(in_.peek()) && !in_.starts_with("->")) in_.skip();
    return std::string(in_.from(begin));
  }

  Result<std::string> need_name(std::string_view what) {
    const Place place = in_.place();
    std::string found = name();
    if (found.empty()) return fail_at(place, "{} where {} is expected", in_.describe(), what);
    return found;
  }

  Result<> need(std::string_view what) {
    if (in_.take(what)) return {};
    return fail_at(in_.place(), "{} where '{}' is expected", in_.describe(), what);
  }

  ExprId add(Expr expr) {
    document_.exprs.push_back(std::move(expr));
    return static_cast<ExprId>(document_.exprs.size() - 1);
  }

  ExprId add_list(Kind kind, Place place, std::vector<ExprId> children) {
    if (children.size() == 1) return children[0];
    return add({.kind = kind, .place = place, .text = {}, .flags = {}, .children = std::move(children)});
  }

  // ---- definitions and statements

  Result<> definition() {
    while (in_.peek() == '?' || in_.peek() == '!') in_.skip();  // they shape the tree, not the language
    const Place place = in_.place();
    const std::string defined = TRY(need_name("the name of a rule or terminal"));
    if (in_.peek() == '[') TRY_VOID(attributes());
    if (in_.peek() == '{') return fail_at(in_.place(), "templates ('{}{{…}}') are not supported", defined);
    skip_blanks(false);
    if (in_.peek() == '.') TRY_VOID(priority(defined));
    skip_blanks(false);
    TRY_VOID(need(":"));
    if (in_.peek() == ':')
      return fail_at(in_.place(), "parametric rules ('{}::…') are not supported", defined);
    in_terminal_ = is_terminal(defined);
    skip_blanks(false);
    const ExprId body = TRY(alternatives(0));
    (in_terminal_ ? document_.terminals : document_.rules).push_back({defined, place, body});
    return {};
  }

  // Behind a name: [capture] and [capture="x"] name parts of the result; all others change what may be said.
  Result<> attributes() {
    in_.skip();
    for (;;) {
      skip_blanks(true);
      const Place place = in_.place();
      const std::string attribute = TRY(need_name("an attribute"));
      if (attribute != "capture") return fail_at(place, "the attribute '{}' is not supported", attribute);
      if (in_.take("=")) TRY_VOID(quoted());
      skip_blanks(true);
      if (in_.take("]")) return {};
      TRY_VOID(need(","));
    }
  }

  // Of two ways to read a text a rule's priority chooses one, and the text is allowed either way; a terminal's decides
  // what a text is cut into.
  Result<> priority(const std::string& defined) {
    const Place place = in_.place();
    in_.skip();
    if (in_.peek() == '-') in_.skip();
    if (!is_digit(in_.peek())) return fail_at(place, "{} where a priority is expected", in_.describe());
    while (is_digit(in_.peek())) in_.skip();
    if (is_terminal(defined))
      return fail_at(place, "priorities of terminals ('{}') are not supported", defined);
    return {};
  }

  Result<> statement() {
    const Place place = in_.place();
    in_.skip();
    const std::string word = name();
    skip_blanks(false);
    if (word == "ignore") {
      in_terminal_ = true;
      document_.ignored.push_back(TRY(alternatives(0)));
      return {};
    }
    if (word == "import") return import();
    if (word == "llguidance" && in_.take("{")) {
      skip_blanks(true);
      if (in_.take("}")) return {};
      return fail_at(in_.place(), "options of %llguidance are not supported");
    }
    return fail_at(place, "'%{}' is not supported", word);
  }

  Result<> import() {
    const Place place = in_.place();
    std::string path;
    while (is_name(in_.peek()) || in_.peek() == '.') {
      if (in_.starts_with("->")) break;
      path += in_.peek();
      in_.skip();
    }
    skip_blanks(false);
    if (path == "common" && in_.take("(")) {
      do {
        skip_blanks(true);
        const Place at = in_.place();
        std::string imported = TRY(need_name("the name of a terminal"));
        document_.imports.push_back({imported, imported, at});
        skip_blanks(true);
      } while (in_.take(","));
      return need(")");
    }
    if (!path.starts_with("common."))
      return fail_at(place, "an import of '{}' is not supported, only of common", path);
    std::string imported = path.substr(7), alias = imported;
    if (in_.take("->")) {
      skip_blanks(false);
      alias = TRY(need_name("the name of a terminal"));
    }
    document_.imports.push_back({imported, alias, place});
    return {};
  }

  // ---- expressions

  Result<ExprId> alternatives(int depth) {
    const Place place = in_.place();
    std::vector<ExprId> list;
    do {
      if (!list.empty()) {
        in_.skip();
        skip_blanks(depth > 0 || goes_on_behind_bar());
      }
      list.push_back(TRY(both(depth)));
      TRY_VOID(alias());
      skip_blanks(depth > 0);
    } while (in_.peek() == '|' || (depth == 0 && goes_on()));
    return add_list(Kind::kChoice, place, std::move(list));
  }

  // A '|' at the end of a line: the alternative is on the next one, unless that begins something else.
  bool goes_on_behind_bar() {
    SourceText here = in_;
    skip_blanks(false);
    bool more = at_line_end();
    if (more) {
      skip_blanks(true);
      while (in_.peek() == '?' || in_.peek() == '!') in_.skip();
      if (!name().empty()) {
        skip_blanks(false);
        more = in_.peek() != ':' && in_.peek() != '.';
      } else {
        more = !in_.at_end() && in_.peek() != '%';
      }
    }
    in_ = here;
    return more;
  }

  Result<> alias() {
    if (!in_.take("->")) return {};
    skip_blanks(false);
    TRY_VOID(need_name("an alias"));
    return {};
  }

  Result<ExprId> both(int depth) {
    const Place place = in_.place();
    std::vector<ExprId> list = {TRY(sequence(depth))};
    while (in_.peek() == '&') {
      if (!in_terminal_) return fail_at(in_.place(), "'&' between rules is not supported, only in terminals");
      in_.skip();
      skip_blanks(depth > 0);
      list.push_back(TRY(sequence(depth)));
    }
    return add_list(Kind::kBoth, place, std::move(list));
  }

  Result<ExprId> sequence(int depth) {
    const Place place = in_.place();
    std::vector<ExprId> parts;
    for (;;) {
      const char c = in_.peek();
      if (in_.at_end() || at_line_end() || c == '|' || c == ')' || c == ']' || c == '&' ||
          in_.starts_with("->"))
        break;
      const ExprId item = TRY(this->item(depth));
      parts.push_back(TRY(repetitions(item, depth)));
      skip_blanks(depth > 0);
    }
    return add_list(Kind::kSequence, place, std::move(parts));
  }

  Result<ExprId> item(int depth) {
    const Place place = in_.place();
    const char c = in_.peek();
    if (c == '"') return string();
    if (c == '/') return regexp();
    if (c == '(' || c == '[') return group(depth);
    if (c == '~') return negation(depth);
    if (is_word_start(c)) {
      const std::string used = name();
      if (in_.peek() == '{' && !is_digit(in_.peek(1)) && in_.peek(1) != ',')
        return fail_at(in_.place(), "templates ('{}{{…}}') are not supported", used);
      return add({.kind = Kind::kName, .place = place, .text = used, .flags = {}, .children = {}});
    }
    if (c == '<') return fail_at(place, "matching single tokens (<token>, <[id]>) is not supported");
    if (c == '@') return fail_at(place, "references to other grammars ('@…') are not supported");
    if (c == '%') {
      in_.skip();
      return fail_at(place, "'%{}' inside of a rule is not supported", name());
    }
    if (c == '*' || c == '+' || c == '?' || c == '{')
      return fail_at(place, "{} has nothing to repeat", in_.describe());
    return fail_at(place, "{} is not part of a rule", in_.describe());
  }

  Result<ExprId> group(int depth) {
    const Place place = in_.place();
    if (depth >= kMaxNesting) return fail_at(place, "brackets are nested more than {} deep", kMaxNesting);
    const bool optional = in_.peek() == '[';
    in_.skip();
    skip_blanks(true);
    const ExprId inner = TRY(alternatives(depth + 1));
    const std::string_view end = optional ? "]" : ")";
    if (!in_.take(end))
      return fail_at(in_.place(), "{} where '{}' is expected for the bracket in line {}, column {}",
                     in_.describe(), end, place.line, place.column);
    return optional ? repeat(place, inner, 0, 1) : inner;
  }

  Result<ExprId> negation(int depth) {
    const Place place = in_.place();
    if (!in_terminal_) return fail_at(place, "'~' before a rule is not supported, only in terminals");
    if (depth >= kMaxNesting) return fail_at(place, "brackets are nested more than {} deep", kMaxNesting);
    in_.skip();
    skip_blanks(depth > 0);
    const ExprId inner = TRY(item(depth + 1));
    return add({.kind = Kind::kNot, .place = place, .text = {}, .flags = {}, .children = {inner}});
  }

  ExprId repeat(Place place, ExprId body, int min, int max) {
    return add({.kind = Kind::kRepeat,
                .place = place,
                .text = {},
                .flags = {},
                .min = min,
                .max = max,
                .children = {body}});
  }

  Result<ExprId> repetitions(ExprId item, int depth) {
    for (int count = 0;; count++) {
      const SourceText before = in_;
      skip_blanks(depth > 0);
      const Place place = in_.place();
      if (in_.take("*")) {
        item = repeat(place, item, 0, -1);
      } else if (in_.take("+")) {
        item = repeat(place, item, 1, -1);
      } else if (in_.take("?")) {
        item = repeat(place, item, 0, 1);
      } else if (in_.peek() == '{') {
        item = TRY(braces(item));
      } else if (in_.peek() == '~' && tilde_counts()) {
        item = TRY(counts(item));
      } else {
        in_ = before;
        return item;
      }
      if (count >= kMaxRepetitions)
        return fail_at(place, "more than {} repetitions of one item", kMaxRepetitions);
    }
  }

  // x ~ 3 is a count, and in terminals x ~Y is x and then anything but Y.
  bool tilde_counts() const {
    SourceText here = in_;
    here.skip();
    while (here.peek() == ' ' || here.peek() == '\t') here.skip();
    return is_digit(here.peek());
  }

  Result<ExprId> counts(ExprId item) {
    const Place place = in_.place();
    in_.skip();
    skip_blanks(false);
    const int min = TRY(read_count(in_));
    int max = min;
    skip_blanks(false);
    if (in_.take("..")) {
      skip_blanks(false);
      max = TRY(read_count(in_));
    }
    if (max < min) return fail_at(place, "~{}..{}: the counts are out of order", min, max);
    return repeat(place, item, min, max);
  }

  // {m,n}, {m,}, {,n}, {n}
  Result<ExprId> braces(ExprId item) {
    const Place place = in_.place();
    in_.skip();
    skip_blanks(false);
    const bool open_start = in_.peek() == ',';
    const int min = open_start ? 0 : TRY(read_count(in_));
    int max = min;
    skip_blanks(false);
    if (in_.take(",")) {
      skip_blanks(false);
      max = open_start || is_digit(in_.peek()) ? TRY(read_count(in_)) : -1;
      skip_blanks(false);
    }
    TRY_VOID(need("}"));
    if (max >= 0 && max < min) return fail_at(place, "{{{},{}}}: the counts are out of order", min, max);
    return repeat(place, item, min, max);
  }

  // ---- strings and regular expressions

  // "…" with its escapes taken.
  Result<std::string> quoted() {
    const Place place = in_.place();
    TRY_VOID(need("\""));
    std::string text;
    while (in_.peek() != '"') {
      if (in_.at_end() || at_line_end()) return fail_at(place, "the string has no end");
      tokens::append_utf8(text, TRY(character()));
    }
    in_.skip();
    return text;
  }

  Result<ExprId> string() {
    const Place place = in_.place();
    std::string text = TRY(quoted());
    std::string flags;
    if (in_.peek() == 'i' && !is_name(in_.peek(1))) {
      flags.push_back('i');
      in_.skip();
    }
    const SourceText behind = in_;
    skip_blanks(false);
    if (!in_.take("..")) {
      in_ = behind;
      return add(
          {.kind = Kind::kString, .place = place, .text = std::move(text), .flags = flags, .children = {}});
    }
    skip_blanks(false);
    const std::string last = TRY(quoted());
    const char32_t from = TRY(single(text, place)), to = TRY(single(last, place));
    if (to < from) return fail_at(place, "a range of characters that ends before it begins");
    return add({.kind = Kind::kRange, .place = place, .text = text, .flags = {}, .last = to, .children = {}});
  }

  static Result<char32_t> single(const std::string& text, Place place) {
    const bool one = !text.empty() && tokens::utf8_step(text, 0).length == text.size();
    if (!one) return fail_at(place, "a range is from one character to another");
    return tokens::utf8_step(text, 0).code;
  }

  Result<ExprId> regexp() {
    const Place place = in_.place();
    in_.skip();
    const size_t begin = in_.offset();
    bool one_line = true;
    while (in_.peek() != '/') {
      if (in_.peek() == '\\') in_.skip();
      if (in_.at_end()) return fail_at(place, "the regular expression has no end");
      if (at_line_end()) one_line = false;
      in_.skip();
    }
    std::string text(in_.from(begin));
    in_.skip();
    std::string flags;
    while (std::string_view("imslux").find(in_.peek()) != std::string_view::npos && !in_.at_end()) {
      flags += in_.peek();
      in_.skip();
    }
    if (!one_line && flags.find('x') == std::string::npos)
      return fail_at(place, "the regular expression does not end on its line (and has no flag x)");
    return add(
        {.kind = Kind::kRegexp, .place = place, .text = std::move(text), .flags = flags, .children = {}});
  }

  Document document_;
  bool in_terminal_ = false;
};

}  // namespace

bool is_terminal(std::string_view name) {
  const size_t first = name.find_first_not_of("_");
  return first != std::string_view::npos && name[first] >= 'A' && name[first] <= 'Z';
}

Result<Document> parse(std::string_view source) {
  TRY_VOID(check_source(source));
  return Parser(source).run();
}

}  // namespace brass::grammar::lark
