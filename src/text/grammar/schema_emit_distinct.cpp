// Arrays whose items are all different, where they are not a few listed values: texts are told apart as they are written.
#include <algorithm>
#include <array>

#include "text/grammar/schema_automaton.h"
#include "text/grammar/schema_emitter.h"

namespace brass::grammar::schema {
namespace {

constexpr size_t kMaxParts = 64;  // values that are a part each; more of them are told apart by their texts

}  // namespace

std::unexpected<Error> Emitter::not_distinct(const ArrayShape& shape) const {
  return wrong_use(
      "{}: keyword 'uniqueItems': supported where the items are strings, numbers and constants that all have "
      "one "
      "schema, or a few listed values",
      reader_.pointer(shape.place));
}

// Each constant once, and each text of a number or a string: numbers are written in one way only.
Result<NodeId> Emitter::distinct_array(const ArrayShape& shape) {
  const FormulaId item = shape.rest;
  if (!TRY(solver_.only_scalars(item))) return not_distinct(shape);
  AnyOrder order;
  order.distinct = true;
  order.min = std::max(shape.min, 1);
  order.max = shape.max;
  order.separator = comma_;
  const int32_t mask = TRY(solver_.constants(item));
  const auto add = [&](int32_t type, NodeId word) {
    if ((mask & type) != 0) order.parts.push_back({word, false, {}});
  };
  add(types::kNull, word("null", "None"));
  add(types::kTrue, word("true", "True"));
  add(types::kFalse, word("false", "False"));
  TRY_VOID(add_distinct_numbers(item, shape, order));
  TRY_VOID(add_distinct_strings(item, order));
  return brackets(grammar_.any_order(std::move(order)), shape.min == 0);
}

Result<> Emitter::add_distinct_numbers(FormulaId item, const ArrayShape& shape, AnyOrder& order) {
  const NumberId set = TRY(solver_.numbers(item));
  if (set == sets_.numbers.none()) return {};
  if (const auto* listed = sets_.numbers.finite(set); listed != nullptr && listed->size() <= kMaxParts) {
    for (const Decimal& value : std::vector<Decimal>(*listed))
      order.parts.push_back({TRY(number(sets_.numbers.values({value}))), false, {}});
    return {};
  }
  const Automaton& automaton = sets_.numbers.automaton(set);
  const auto states = in_order(automaton);
  if (!states) return not_distinct(shape);
  RegexArena& arena = sets_.regexes;
  // One spelling a value: no zeros at the end of a fraction, no zero with a sign.
  const RegexId plain = TRY(arena.parse("-?\\d+(?:\\.\\d*[1-9])?", RegexSyntax::kFull));
  const RegexId texts =
      arena.without(arena.all_of(std::array{number_regex(automaton, *states), plain}), arena.literal("-0"));
  order.parts.push_back(grammar_.part_again(
      {.before = -1, .behind = grammar_.sequence({}), .regex = texts, .spelling = Spelling::kPlain}));
  return {};
}

Result<> Emitter::add_distinct_strings(FormulaId item, AnyOrder& order) {
  const StringId set = TRY(solver_.strings(item));
  if (sets_.strings.is_none(set)) return {};
  if (const auto* listed = sets_.strings.finite(set); listed != nullptr && listed->size() <= kMaxParts) {
    for (const std::string& text : std::vector<std::string>(*listed))
      order.parts.push_back({TRY(string(sets_.strings.values({text}))), false, {}});
    return {};
  }
  order.parts.push_back(grammar_.part_again(quoted_text(sets_.strings.regex(set))));
  return {};
}

}  // namespace brass::grammar::schema
