// Builds and simplifies the automata of schema_numbers.h.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "text/grammar/schema_numbers.h"

namespace brass::grammar::schema {

constexpr size_t kMaxStates = 1 << 17;

// The automaton whose states are those that `step` reaches from `start`. step: (state, character) to a state or
// nothing; accepts: of a state.
template <class State, class Step, class Accepts>
Result<Automaton> explore(const State& start, const Step& step, const Accepts& accepts) {
  Automaton out;
  std::map<State, int32_t> numbers{{start, 0}};
  std::deque<State> open{start};
  while (!open.empty()) {
    const State state = open.front();
    open.pop_front();
    Automaton::Row row;
    for (size_t c = 0; c < row.size(); c++) {
      row[c] = -1;
      const std::optional<State> to = step(state, Automaton::kAlphabet[c]);
      if (!to) continue;
      const auto [place, fresh] = numbers.emplace(*to, static_cast<int32_t>(numbers.size()));
      if (fresh) open.push_back(*to);
      row[c] = place->second;
    }
    out.next.push_back(row);
    out.accepts.push_back(accepts(state) ? 1 : 0);
    if (numbers.size() > kMaxStates) return fail("its numbers need more than {} states", kMaxStates);
  }
  return out;
}

// The smallest automaton of the language, its states in the order in which a walk by rows meets them. Equal languages give
// equal automata; the empty one has one state that does not accept.
Automaton minimal(const Automaton& automaton);

// The states in an order in which every step leads to a later one or to the same; nothing where there is none.
std::optional<std::vector<int32_t>> in_order(const Automaton& a);

// Exactly these texts with any zeros that do not change the value: the values are distinct.
Automaton automaton_of_values(const std::vector<Decimal>& values);

}  // namespace brass::grammar::schema
