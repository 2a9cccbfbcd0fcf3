// Sets of numbers, as the languages of their spellings without exponents.
//
// Owns: NumberSets: made from bounds, multiples and values, closed under and, or, not. Must not know: schemas,
// grammars. Invariants: the empty set has one id, so emptiness is exact; every spelling of a number (1, 1.0, -0) is in a
// set or none is; sizes are bounded.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/schema_decimal.h"

namespace brass::grammar::schema {

using NumberId = int32_t;

// A deterministic automaton over "0123456789-."; state 0 is the first, -1 the one without a way out.
struct Automaton {
  static constexpr std::string_view kAlphabet = "0123456789-.";
  using Row = std::array<int32_t, 12>;
  std::vector<Row> next;
  std::vector<uint8_t> accepts;

  bool matches(std::string_view text) const;
};

class NumberSets {
 public:
  NumberSets();

  NumberId none() const { return none_; }
  NumberId all() const { return all_; }
  NumberId integers() const { return integers_; }
  NumberId values(std::vector<Decimal> values);
  // Numbers less than, equal to, greater than the bound.
  Result<NumberId> compared(const Decimal& bound, bool less, bool equal, bool greater);
  Result<NumberId> multiples(const Decimal& of);

  Result<NumberId> both(NumberId a, NumberId b);
  Result<NumberId> either(std::span<const NumberId> parts);
  Result<NumberId> outside(NumberId a);

  // All values, where they were given one by one (or none are left).
  const std::vector<Decimal>* finite(NumberId id) const;
  const Automaton& automaton(NumberId id) { return at(id); }
  // The spellings that a program would write: no zeros at the end of a fraction, 1 for whole numbers (1.0 too where others
  // are in the set).
  Result<Automaton> shortest(NumberId id);

 private:
  struct Set {
    bool finite = false;
    std::vector<Decimal> values;
    Automaton automaton;  // empty until asked for, where finite
  };

  const Automaton& at(NumberId id);
  NumberId intern(Automaton automaton);
  Result<NumberId> combine(NumberId a, NumberId b, bool all_of);

  std::deque<Set> sets_;  // what was handed out by reference stays where it is
  std::map<std::vector<Decimal>, NumberId> by_values_;
  std::map<std::string, NumberId> by_automaton_;
  std::map<std::array<NumberId, 3>, NumberId> combined_;
  NumberId none_ = 0, all_ = 0, integers_ = 0;
};

}  // namespace brass::grammar::schema
