#include "text/grammar/schema_emitter.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "text/grammar/schema_automaton.h"

namespace brass::grammar::schema {
namespace {

// Exponents have two digits, which every double survives.
constexpr const char* kAnyNumber = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?";

std::atomic<uint64_t> next_schema = 1;

// The characters of a state's steps, by where they lead.
std::map<int32_t, CodePoints> steps(const Automaton& a, size_t state) {
  std::map<int32_t, CodePoints> out;
  // In the order of the code points, which sets keep.
  for (const char c : std::string_view("-.0123456789")) {
    const int32_t to = a.next[state][Automaton::kAlphabet.find(c)];
    const auto point = static_cast<char32_t>(c);
    if (to < 0) continue;
    CodePoints& set = out[to];
    if (!set.empty() && set.back().second + 1 == point)
      set.back().second = point;
    else
      set.emplace_back(point, point);
  }
  return out;
}

}  // namespace

Emitter::Emitter(Grammar& grammar, Solver& solver, Reader& reader, Sets& sets, const SchemaOptions& options)
    : grammar_(grammar),
      solver_(solver),
      reader_(reader),
      sets_(sets),
      f_(sets.formulas),
      options_(options),
      schema_(next_schema++) {
  space_ = options.space == JsonSpace::kCompact ? -1 : json_space_node(grammar, options.space);
  comma_ = spaced({grammar.sequence({}), grammar.text(","), grammar.sequence({})});
  colon_ = spaced({grammar.sequence({}), grammar.text(":"), grammar.sequence({})});
}

NodeId Emitter::fresh_rule(const std::string& what) {
  return grammar_.rule(fmt::format("{} (schema {}, rule {})", what, schema_, rules_++));
}

NodeId Emitter::spaced(std::vector<NodeId> parts) {
  std::vector<NodeId> out;
  for (size_t i = 0; i < parts.size(); i++) {
    if (i > 0 && space_ >= 0) out.push_back(space_);
    out.push_back(parts[i]);
  }
  return grammar_.sequence(std::move(out));
}

Result<NodeId> Emitter::value(FormulaId id) {
  const NodeId top = TRY(node(id));
  TRY_VOID(define_all());
  return top;
}

Result<> Emitter::define_all() {
  while (!open_.empty()) {
    const auto [formula, rule] = open_.front();
    open_.pop_front();
    TRY_VOID(define(formula, rule));
  }
  return {};
}

Result<NodeId> Emitter::node(FormulaId id) {
  if (const auto found = nodes_.find(id); found != nodes_.end()) return found->second;
  if (f_[id].kind == Kind::kRef) {
    // A reference to a reference is the same rule.
    TRY_VOID(solver_.constants(id));  // finds those that lead back to themselves
    const FormulaId said = TRY(reader_.formula(f_[id].a));
    if (f_[said].kind == Kind::kRef) return nodes_[id] = TRY(node(said));
  }
  const bool composite = !TRY(solver_.cases(id, Composite::kArray)).empty() ||
                         !TRY(solver_.cases(id, Composite::kObject)).empty();
  if (!composite) return nodes_[id] = grammar_.choice(TRY(scalars(id)));
  const NodeId rule =
      fresh_rule(f_[id].kind == Kind::kRef ? reader_.pointer(f_[id].a) : "a part of the schema");
  open_.emplace_back(id, rule);
  return nodes_[id] = rule;
}

Result<> Emitter::define(FormulaId id, NodeId rule) {
  std::vector<NodeId> parts = TRY(scalars(id));
  for (const Case& one : TRY(solver_.cases(id, Composite::kArray))) parts.push_back(TRY(array(one)));
  for (const Case& one : TRY(solver_.cases(id, Composite::kObject))) parts.push_back(TRY(object(one)));
  grammar_.define(rule, grammar_.choice(std::move(parts)));
  return {};
}

Result<std::vector<NodeId>> Emitter::scalars(FormulaId id) {
  std::vector<NodeId> out;
  const int32_t mask = TRY(solver_.constants(id));
  if ((mask & types::kNull) != 0) out.push_back(word("null", "None"));
  if ((mask & types::kTrue) != 0) out.push_back(word("true", "True"));
  if ((mask & types::kFalse) != 0) out.push_back(word("false", "False"));
  const NumberId number_set = TRY(solver_.numbers(id));
  if (number_set != sets_.numbers.none()) out.push_back(TRY(number(number_set)));
  const StringId string_set = TRY(solver_.strings(id));
  if (!sets_.strings.is_none(string_set)) out.push_back(TRY(string(string_set)));
  return out;
}

Result<NodeId> Emitter::string(StringId set) {
  if (const auto found = strings_.find(set); found != strings_.end()) return found->second;
  return strings_[set] = quoted(sets_.strings.regex(set));
}

NodeId Emitter::word(const char* json, const char* python) {
  if (!options_.dialect.python) return grammar_.text(json);
  return grammar_.choice({grammar_.text(json), grammar_.text(python)});
}

RegexId Emitter::spoken(RegexId strings) {
  return options_.dialect.forbidden < 0 ? strings
                                        : sets_.regexes.without(strings, options_.dialect.forbidden);
}

// A string, between quotes or the marks that stand for them. Such a mark ends a string where a value can end.
NodeId Emitter::quoted(RegexId strings) {
  const AnyOrder::Key text = quoted_text(strings);
  const NodeId inside = grammar_.terminal(text.regex, text.spelling);
  const NodeId json = grammar_.sequence({text.before, inside, text.behind});
  return options_.dialect.python ? grammar_.choice({json, single_quoted(strings)}) : json;
}

AnyOrder::Key Emitter::quoted_text(RegexId strings) {
  const std::string& mark = options_.dialect.quote;
  if (mark.empty()) {
    const NodeId quote = grammar_.text("\"");
    return {quote, quote, spoken(strings), Spelling::kJsonString};
  }
  RegexArena& arena = sets_.regexes;
  const RegexId behind = arena.set({{U',', U','}, {U':', U':'}, {U']', U']'}, {U'}', U'}'}});
  const RegexId ended = arena.concat(std::array{arena.all(), arena.literal(mark), behind, arena.all()});
  const NodeId quote = options_.dialect.quote_is_control ? grammar_.control(mark) : grammar_.text(mark);
  return {quote, quote, arena.without(spoken(strings), ended), Spelling::kPlain};
}

NodeId Emitter::single_quoted(RegexId strings) {
  const NodeId inside = grammar_.terminal(spoken(strings), Spelling::kSingleQuoted);
  return grammar_.sequence({grammar_.text("'"), inside, grammar_.text("'")});
}

// Keys that need no marks around them: nothing in them ends them, or looks like a quote.
RegexId Emitter::bare_key(RegexId keys) {
  RegexArena& arena = sets_.regexes;
  const CodePoints points = {{U'!', U'!'}, {U'#', U'&'}, {U'-', U'9'},   {U'@', U'Z'},
                             {U'_', U'_'}, {U'a', U'z'}, {0xA1, 0xD7FF}, {0xE000, 0x10FFFF}};
  constexpr int kLongest = 64;
  return arena.all_of(std::array{spoken(keys), arena.repeat(arena.set(points), 1, kLongest)});
}

NodeId Emitter::key_text(StringId keys) {
  const RegexId regex = sets_.strings.regex(keys);
  if (options_.dialect.quote.empty()) return quoted(regex);
  const RegexId bare = bare_key(regex);
  return sets_.regexes.is_live(bare) ? grammar_.terminal(bare) : quoted(regex);
}

Result<NodeId> Emitter::number(NumberId set) {
  if (const auto found = numbers_.find(set); found != numbers_.end()) return found->second;
  const bool shortest = options_.numbers == JsonNumbers::kShortest;
  if (shortest && set == sets_.numbers.all())
    return numbers_[set] = grammar_.terminal(TRY(sets_.regexes.parse(kAnyNumber, RegexSyntax::kFull)));
  const Automaton automaton = shortest ? TRY(sets_.numbers.shortest(set)) : sets_.numbers.automaton(set);
  const auto order = in_order(automaton);
  return numbers_[set] = order ? grammar_.terminal(number_regex(automaton, *order)) : number_rules(automaton);
}

// Without loops but those of one state, an automaton is an expression of its own size.
RegexId Emitter::number_regex(const Automaton& automaton, const std::vector<int32_t>& order) {
  RegexArena& arena = sets_.regexes;
  std::vector<RegexId> from(automaton.next.size(), -1);
  for (size_t i = order.size(); i-- > 0;) {
    const auto state = static_cast<size_t>(order[i]);
    std::vector<RegexId> ways;
    RegexId loop = arena.empty();
    if (automaton.accepts[state] != 0) ways.push_back(arena.empty());
    for (const auto& [to, set] : steps(automaton, state)) {
      if (to == order[i])
        loop = arena.repeat(arena.set(set), 0, -1);
      else
        ways.push_back(arena.concat(std::array{arena.set(set), from[static_cast<size_t>(to)]}));
    }
    from[state] = arena.concat(std::array{loop, arena.any_of(ways)});
  }
  return from[0];
}

NodeId Emitter::number_rules(const Automaton& automaton) {
  std::vector<NodeId> rules;
  for (size_t s = 0; s < automaton.next.size(); s++) rules.push_back(fresh_rule("the digits of a number"));
  for (size_t s = 0; s < automaton.next.size(); s++) {
    std::vector<NodeId> ways;
    if (automaton.accepts[s] != 0) ways.push_back(grammar_.sequence({}));
    for (const auto& [to, set] : steps(automaton, s))
      ways.push_back(
          grammar_.sequence({grammar_.terminal(sets_.regexes.set(set)), rules[static_cast<size_t>(to)]}));
    grammar_.define(rules[s], grammar_.choice(std::move(ways)));
  }
  return rules[0];
}

}  // namespace brass::grammar::schema
