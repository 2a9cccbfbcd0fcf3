#include "text/grammar/lark.h"

#include <unordered_map>

#include "text/grammar/code_points.h"
#include "text/grammar/ebnf.h"
#include "text/grammar/lark_ast.h"
#include "text/grammar/lark_common.h"
#include "text/grammar/lark_regex.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {
namespace {

using lark::ExprId;
using lark::Kind;

// The chain of terminals that use each other is walked by recursion.
constexpr int kMaxTerminalDepth = 200;
// A name that no grammar can use.
constexpr std::string_view kRoot = "%start";

// Terminals to regular expressions.
class Terminals {
 public:
  Terminals(const lark::Document& document, RegexArena& regexes) : document_(document), regexes_(regexes) {}

  Result<> declare() {
    for (const lark::Definition& d : document_.terminals) {
      const auto [found, fresh] = table_.try_emplace(d.name, Terminal{.body = d.body, .place = d.place});
      if (!fresh)
        return fail_at(d.place, "terminal '{}' is defined on line {} already", d.name,
                       found->second.place.line);
    }
    for (const lark::Import& i : document_.imports) {
      const std::string_view pattern = lark::common_pattern(i.name);
      if (pattern.empty()) return fail_at(i.place, "there is no terminal 'common.{}'", i.name);
      if (!lark::is_terminal(i.alias)) return fail_at(i.place, "'{}' is no name of a terminal", i.alias);
      Terminal terminal{.place = i.place};
      terminal.value = {.regex = TRY(regexes_.parse(pattern, RegexSyntax::kFull)), .weight = pattern.size()};
      const auto [found, fresh] = table_.try_emplace(i.alias, terminal);
      if (!fresh)
        return fail_at(i.place, "terminal '{}' is defined on line {} already", i.alias,
                       found->second.place.line);
    }
    for (const lark::Definition& d : document_.terminals) TRY_VOID(by_name(d.name, d.place, 0));
    return {};
  }

  struct Value {
    RegexId regex = -1;
    uint64_t weight = 1;
  };

  Result<Value> by_name(const std::string& name, Place place, int depth) {
    const auto found = table_.find(name);
    if (found == table_.end()) {
      if (!lark::is_terminal(name))
        return fail_at(place, "a terminal can not be made of the rule '{}'", name);
      return fail_at(place, "terminal '{}' is not defined", name);
    }
    Terminal& terminal = found->second;
    if (terminal.value.regex >= 0) return terminal.value;
    if (terminal.open) return fail_at(terminal.place, "terminal '{}' is made of itself", name);
    if (depth >= kMaxTerminalDepth)
      return fail_at(place, "terminals that use each other are more than {} deep", kMaxTerminalDepth);
    terminal.open = true;
    const Value value = TRY(evaluate(terminal.body, depth + 1));
    terminal.value = value;
    terminal.open = false;
    return value;
  }

  Result<Value> evaluate(ExprId id, int depth) {
    const lark::Expr& e = document_.at(id);
    switch (e.kind) {
      case Kind::kString:
        return string(e);
      case Kind::kRange: {
        const char32_t first = tokens::utf8_step(e.text, 0).code;
        return Value{regexes_.set(normalized({{first, e.last}}))};
      }
      case Kind::kRegexp:
        return regexp(e);
      case Kind::kName:
        return by_name(e.text, e.place, depth);
      case Kind::kRepeat: {
        const Value body = TRY(evaluate(e.children[0], depth));
        const auto count = static_cast<uint64_t>(std::max(e.max, e.min + 1));
        return Value{regexes_.repeat(body.regex, e.min, e.max), std::min(body.weight * count, kHeavy)};
      }
      case Kind::kNot: {
        const Value body = TRY(evaluate(e.children[0], depth));
        return Value{regexes_.negate(body.regex), body.weight};
      }
      case Kind::kSequence:
      case Kind::kChoice:
      case Kind::kBoth:
        return combine(e, depth);
    }
    return Value{};
  }

 private:
  static constexpr uint64_t kHeavy = 1 << 20;

  struct Terminal {
    ExprId body = -1;
    Place place;
    Value value = {};
    bool open = false;
  };

  Result<Value> combine(const lark::Expr& e, int depth) {
    std::vector<RegexId> parts;
    uint64_t weight = 0;
    for (const ExprId child : e.children) {
      const Value part = TRY(evaluate(child, depth));
      parts.push_back(part.regex);
      weight = std::min(weight + part.weight, kHeavy);
    }
    const RegexId regex = e.kind == Kind::kSequence ? regexes_.concat(parts)
                          : e.kind == Kind::kChoice ? regexes_.any_of(parts)
                                                    : regexes_.all_of(parts);
    return Value{regex, weight};
  }

  Value string(const lark::Expr& e) {
    if (e.flags.empty()) return {regexes_.literal(e.text), e.text.size()};
    std::vector<RegexId> letters;
    for (size_t at = 0; at < e.text.size();) {
      const tokens::Utf8Step step = tokens::utf8_step(e.text, at);
      letters.push_back(regexes_.set(any_case({{step.code, step.code}})));
      at += step.length;
    }
    return {regexes_.concat(letters), e.text.size()};
  }

  Result<Value> regexp(const lark::Expr& e) {
    Result<std::string> pattern = lark::translate_pattern(e.text, e.flags);
    if (!pattern) return fail_at(e.place, "/{}/: {}", e.text, pattern.error().message);
    Result<RegexId> regex = regexes_.parse(*pattern, RegexSyntax::kFull);
    if (!regex) return fail_at(e.place, "/{}/: {}", e.text, regex.error().message);
    return Value{*regex, std::min<uint64_t>(e.text.size(), kHeavy)};
  }

  const lark::Document& document_;
  RegexArena& regexes_;
  std::unordered_map<std::string, Terminal> table_;
};

// Rules to Ebnf, whose leaves are terminals with what is ignored behind each.
class Compiler {
 public:
  explicit Compiler(const lark::Document& document)
      : document_(document), terminals_(document, rules_.regexes()) {}

  Result<std::shared_ptr<const Grammar>> run() {
    TRY_VOID(terminals_.declare());
    TRY_VOID(find_ignored());
    for (const lark::Definition& d : document_.rules)
      TRY_VOID(rules_.define(d.name, TRY(expression(d.body)), d.place));
    if (rules_.find("start") < 0) return wrong_use("rule 'start', where a text begins, is not defined");
    const Ebnf::ExprId parts[] = {rules_.regex(ignored_.regex, ignored_.weight),
                                  rules_.reference("start", Place{})};
    TRY_VOID(rules_.define(kRoot, rules_.sequence(parts), Place{}));
    return std::move(rules_).build(kRoot);
  }

 private:
  Result<> find_ignored() {
    std::vector<RegexId> all;
    uint64_t weight = 0;
    for (const ExprId id : document_.ignored) {
      const Terminals::Value value = TRY(terminals_.evaluate(id, 0));
      all.push_back(value.regex);
      weight += value.weight;
    }
    if (!all.empty())
      ignored_ = {rules_.regexes().repeat(rules_.regexes().any_of(all), 0, -1), weight};
    else
      ignored_ = {rules_.regexes().empty(), 0};
    return {};
  }

  Result<Ebnf::ExprId> expression(ExprId id) {
    const lark::Expr& e = document_.at(id);
    switch (e.kind) {
      case Kind::kName:
        if (!lark::is_terminal(e.text)) return rules_.reference(e.text, e.place);
        break;
      case Kind::kRepeat:
        return rules_.repeat(TRY(expression(e.children[0])), e.min, e.max);
      case Kind::kSequence:
        return rules_.sequence(TRY(all(e)));
      case Kind::kChoice:
        return rules_.choice(TRY(all(e)));
      case Kind::kString:
        if (e.flags.empty() && document_.ignored.empty()) return rules_.text(e.text);
        break;
      default:
        break;
    }
    const Terminals::Value value = TRY(terminals_.evaluate(id, 0));
    const RegexId parts[] = {value.regex, ignored_.regex};
    return rules_.regex(rules_.regexes().concat(parts), value.weight + ignored_.weight);
  }

  Result<std::vector<Ebnf::ExprId>> all(const lark::Expr& e) {
    std::vector<Ebnf::ExprId> list;
    for (const ExprId child : e.children) list.push_back(TRY(expression(child)));
    return list;
  }

  const lark::Document& document_;
  Ebnf rules_;
  Terminals terminals_;
  Terminals::Value ignored_;
};

}  // namespace

Result<std::shared_ptr<const Grammar>> grammar_from_lark(std::string_view source) {
  const auto compile = [&]() -> Result<std::shared_ptr<const Grammar>> {
    const lark::Document document = TRY(lark::parse(source));
    return Compiler(document).run();
  };
  return within("grammar", compile());
}

}  // namespace brass::grammar
