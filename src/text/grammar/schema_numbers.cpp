#include "text/grammar/schema_numbers.h"

#include <algorithm>
#include <cstring>

#include "text/grammar/schema_automaton.h"

namespace brass::grammar::schema {
namespace {

constexpr int64_t kMaxResidues = 10000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where in a number a text stands.
enum class Part : uint8_t { kStart, kSign, kZero, kWhole, kPoint, kFraction };

bool complete(Part part) { return part == Part::kZero || part == Part::kWhole || part == Part::kFraction; }

std::optional<Part> advance(Part part, char c) {
  const bool digit = is_digit(c);
  switch (part) {
    case Part::kStart:
      if (c == '-') return Part::kSign;
      [[fallthrough]];
    case Part::kSign:
      if (digit) return c == '0' ? Part::kZero : Part::kWhole;
      return {};
    case Part::kWhole:
      if (digit) return Part::kWhole;
      [[fallthrough]];
    case Part::kZero:
      if (c == '.') return Part::kPoint;
      return {};
    case Part::kPoint:
    case Part::kFraction:
      if (digit) return Part::kFraction;
      return {};
  }
  return {};
}

// How a text's magnitude stands to a bound's, digit by digit. order: -1 less, 0 equal so far, 1 greater.
struct Comparison {
  Part part = Part::kStart;
  bool negative = false;
  int8_t order = 0;
  int32_t at = 0;  // digits of this part so far, not past what the bound has (and one)
  auto operator<=>(const Comparison&) const = default;
};

class Comparer {
 public:
  explicit Comparer(const Decimal& bound) : bound_(bound), digits_(spell(bound)) {}

  std::optional<Comparison> step(Comparison state, char c) const {
    const std::optional<Part> part = advance(state.part, c);
    if (!part) return {};
    if (c == '-') state.negative = true;
    if (*part == Part::kZero || *part == Part::kWhole) {
      const auto length = static_cast<int32_t>(digits_.whole.size());
      if (state.at < length && state.order == 0) state.order = sign(c - digits_.whole[at(state)]);
      state.at = std::min(state.at + 1, length + 1);
    } else if (*part == Part::kPoint) {
      state.order = whole_order(state);
      state.at = 0;
    } else if (*part == Part::kFraction && state.order == 0) {
      const bool inside = at(state) < digits_.fraction.size();
      state.order = sign(c - (inside ? digits_.fraction[at(state)] : '0'));
      state.at += inside ? 1 : 0;
    }
    state.part = *part;
    return state;
  }

  // The number against the bound; the text is complete.
  int order(const Comparison& state) const {
    int order = state.part == Part::kFraction ? state.order : whole_order(state);
    const size_t seen = state.part == Part::kFraction ? at(state) : 0;
    if (order == 0 && seen < digits_.fraction.size()) order = -1;
    const bool zero_bound = bound_.digits.empty();
    if (!state.negative) return bound_.negative ? 1 : order;
    if (bound_.negative) return -order;
    return zero_bound && order == 0 ? 0 : -1;
  }

 private:
  static size_t at(const Comparison& state) { return static_cast<size_t>(state.at); }
  static int8_t sign(int difference) {
    return static_cast<int8_t>(difference < 0 ? -1 : difference > 0 ? 1 : 0);
  }
  int8_t whole_order(const Comparison& state) const {
    const auto length = static_cast<int32_t>(digits_.whole.size());
    return state.at < length ? int8_t{-1} : state.at > length ? int8_t{1} : state.order;
  }

  const Decimal& bound_;
  Digits digits_;
};

// What is known of a text that may become a multiple of p * 10^e.
struct Residue {
  Part part = Part::kStart;
  int32_t rest = 0;   // of the digits so far, without the zeros at the end that are counted
  int32_t zeros = 0;  // e > 0: zeros at the end; e < 0: digits after the point
  auto operator<=>(const Residue&) const = default;
};

class Divider {
 public:
  Divider(int32_t p, int32_t e) : p_(p), e_(e) {}

  std::optional<Residue> step(Residue state, char c) const {
    const std::optional<Part> part = advance(state.part, c);
    if (!part) return {};
    const bool first = state.part == Part::kPoint;
    if (*part == Part::kPoint && e_ >= 0 && !divisible(state)) return {};
    state.part = *part;
    if (!is_digit(c)) return state;
    const int32_t digit = c - '0';
    if (*part != Part::kFraction) {
      take_whole(state, digit);
    } else if (e_ >= 0 || (!first && state.zeros == -e_)) {
      if (digit != 0) return {};
    } else {
      if (first) state.zeros = 0;
      state.rest = mod(int64_t{state.rest} * 10 + digit);
      state.zeros++;
    }
    return state;
  }

  bool accepts(const Residue& state) const { return complete(state.part) && divisible(state); }

 private:
  int32_t mod(int64_t value) const { return static_cast<int32_t>(value % p_); }

  void take_whole(Residue& state, int32_t digit) const {
    if (e_ > 0 && digit == 0 && state.zeros < e_ && state.part == Part::kWhole) {
      state.zeros++;
      return;
    }
    // Zeros that turned out not to end the number are digits like others.
    const int32_t held = e_ > 0 && digit != 0 ? state.zeros : 0;
    for (int32_t i = 0; i < held; i++) state.rest = mod(int64_t{state.rest} * 10);
    if (digit != 0) state.zeros = 0;
    state.rest = mod(int64_t{state.rest} * 10 + digit);
  }

  bool divisible(const Residue& state) const {
    if (e_ > 0) return (state.rest == 0 && state.zeros == e_) || is_zero(state);
    int64_t rest = state.rest;
    const int32_t seen = state.part == Part::kFraction ? state.zeros : 0;
    for (int32_t i = seen; i < -e_; i++) rest = rest * 10 % p_;
    return rest == 0;
  }

  // Whole numbers never start with 0, so nothing was taken but zeros: zero itself.
  static bool is_zero(const Residue& state) {
    return state.part == Part::kZero || (state.part != Part::kWhole && state.zeros == 0 && state.rest == 0);
  }

  int32_t p_, e_;
};

std::string key_of(const Automaton& a) {
  std::string key(a.accepts.begin(), a.accepts.end());
  for (const Automaton::Row& row : a.next) {
    const size_t end = key.size();
    key.resize(end + sizeof row);
    std::memcpy(key.data() + end, row.data(), sizeof row);
  }
  return key;
}

using Pair = std::pair<int32_t, int32_t>;

int32_t follow(const Automaton& a, int32_t state, char c) {
  return state < 0 ? -1 : a.next[static_cast<size_t>(state)][Automaton::kAlphabet.find(c)];
}

bool accepts(const Automaton& a, int32_t state) {
  return state >= 0 && a.accepts[static_cast<size_t>(state)] != 0;
}

Result<Automaton> product(const Automaton& a, const Automaton& b, bool all_of) {
  const auto step = [&](const Pair& state, char c) -> std::optional<Pair> {
    const Pair to{follow(a, state.first, c), follow(b, state.second, c)};
    if (all_of ? to.first < 0 || to.second < 0 : to.first < 0 && to.second < 0) return {};
    return to;
  };
  const auto ends = [&](const Pair& state) {
    const bool in_a = accepts(a, state.first), in_b = accepts(b, state.second);
    return all_of ? in_a && in_b : in_a || in_b;
  };
  return minimal(TRY(explore(Pair{0, 0}, step, ends)));
}

Result<Automaton> difference(const Automaton& a, const Automaton& b) {
  const auto step = [&](const Pair& state, char c) -> std::optional<Pair> {
    const Pair to{follow(a, state.first, c), follow(b, state.second, c)};
    if (to.first < 0) return {};
    return to;
  };
  const auto ends = [&](const Pair& state) { return accepts(a, state.first) && !accepts(b, state.second); };
  return minimal(TRY(explore(Pair{0, 0}, step, ends)));
}

// All numbers; `zero_fractions`: only those whose fraction is zeros.
Automaton numbers(bool zero_fractions) {
  const auto step = [&](Part part, char c) -> std::optional<Part> {
    const std::optional<Part> to = advance(part, c);
    if (to == Part::kFraction && zero_fractions && c != '0') return {};
    return to;
  };
  return minimal(*explore(Part::kStart, step, complete));
}

// Spellings whose fraction does not end in a zero; with `point_zero` 1.0 as well, where it is all of the fraction.
Automaton short_spellings(bool fractions, bool point_zero) {
  using State =
      std::pair<Part, int>;  // how the fraction ends: 0 in a digit, 1 in its first zero, 2 in a later one
  const auto step = [&](const State& state, char c) -> std::optional<State> {
    const std::optional<Part> to = advance(state.first, c);
    if (!to || (*to == Part::kPoint && !fractions)) return {};
    if (*to != Part::kFraction) return State{*to, 0};
    return State{*to, c != '0' ? 0 : state.first == Part::kPoint ? 1 : 2};
  };
  const auto ends = [&](const State& state) {
    return complete(state.first) && (state.second == 0 || (state.second == 1 && point_zero));
  };
  return minimal(*explore(State{Part::kStart, 0}, step, ends));
}

}  // namespace

bool Automaton::matches(std::string_view text) const {
  int32_t state = 0;
  for (const char c : text) {
    const size_t column = kAlphabet.find(c);
    if (column == std::string_view::npos) return false;
    state = next[static_cast<size_t>(state)][column];
    if (state < 0) return false;
  }
  return accepts[static_cast<size_t>(state)] != 0;
}

NumberSets::NumberSets() {
  none_ = values({});
  all_ = intern(numbers(false));
  integers_ = intern(numbers(true));
}

NumberId NumberSets::intern(Automaton automaton) {
  const bool empty = automaton.next.size() == 1 && automaton.accepts[0] == 0;
  if (empty) return none_;
  const auto [place, fresh] = by_automaton_.emplace(key_of(automaton), static_cast<NumberId>(sets_.size()));
  if (fresh) sets_.push_back({false, {}, std::move(automaton)});
  return place->second;
}

NumberId NumberSets::values(std::vector<Decimal> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const auto [place, fresh] = by_values_.emplace(std::move(values), static_cast<NumberId>(sets_.size()));
  if (fresh) sets_.push_back({true, place->first, {}});
  return place->second;
}

Result<NumberId> NumberSets::compared(const Decimal& bound, bool less, bool equal, bool greater) {
  const Comparer comparer(bound);
  const auto step = [&](const Comparison& state, char c) { return comparer.step(state, c); };
  const auto ends = [&](const Comparison& state) {
    if (!complete(state.part)) return false;
    const int order = comparer.order(state);
    return order < 0 ? less : order > 0 ? greater : equal;
  };
  return intern(minimal(TRY(explore(Comparison{}, step, ends))));
}

Result<NumberId> NumberSets::multiples(const Decimal& of) {
  if (of.digits.empty() || of.negative) return fail("it must be greater than 0");
  if (of.digits.size() > 9)
    return fail("{} has too many digits: at most {} residues are kept", plain(of), kMaxResidues);
  const int64_t p = std::stoll(of.digits);
  if (p * (std::abs(of.exponent) + 1) > kMaxResidues)
    return fail("{} has too many digits: at most {} residues are kept", plain(of), kMaxResidues);
  const Divider divider(static_cast<int32_t>(p), of.exponent);
  const auto step = [&](const Residue& state, char c) { return divider.step(state, c); };
  const auto ends = [&](const Residue& state) { return divider.accepts(state); };
  return intern(minimal(TRY(explore(Residue{}, step, ends))));
}

const Automaton& NumberSets::at(NumberId id) {
  Set& set = sets_[static_cast<size_t>(id)];
  if (set.automaton.next.empty()) set.automaton = automaton_of_values(set.values);
  return set.automaton;
}

const std::vector<Decimal>* NumberSets::finite(NumberId id) const {
  const Set& set = sets_[static_cast<size_t>(id)];
  return set.finite ? &set.values : nullptr;
}

Result<NumberId> NumberSets::combine(NumberId a, NumberId b, bool all_of) {
  const std::array<NumberId, 3> key{std::min(a, b), std::max(a, b), all_of ? 1 : 0};
  if (const auto found = combined_.find(key); found != combined_.end()) return found->second;
  at(a), at(b);
  return combined_[key] = intern(TRY(product(at(a), at(b), all_of)));
}

Result<NumberId> NumberSets::both(NumberId a, NumberId b) {
  if (a == b || b == all_) return a;
  if (a == all_) return b;
  if (finite(a) == nullptr) std::swap(a, b);
  if (finite(a) == nullptr) return combine(a, b, true);
  std::vector<Decimal> kept;
  const Automaton& other = at(b);
  for (const Decimal& value : *finite(a))
    if (other.matches(plain(value))) kept.push_back(value);
  return values(std::move(kept));
}

Result<NumberId> NumberSets::either(std::span<const NumberId> parts) {
  std::vector<Decimal> listed;
  std::vector<NumberId> others;
  for (const NumberId part : parts) {
    if (part == all_) return all_;
    if (const auto* of_part = finite(part))
      listed.insert(listed.end(), of_part->begin(), of_part->end());
    else
      others.push_back(part);
  }
  std::sort(others.begin(), others.end());
  others.erase(std::unique(others.begin(), others.end()), others.end());
  if (!listed.empty()) {
    const NumberId list = values(std::move(listed));
    others.push_back(list);
  }
  // In pairs, so that many parts cost no more than a few of their size.
  while (others.size() > 1) {
    std::vector<NumberId> halves;
    for (size_t i = 0; i + 1 < others.size(); i += 2)
      halves.push_back(TRY(combine(others[i], others[i + 1], false)));
    if (others.size() % 2 == 1) halves.push_back(others.back());
    others = std::move(halves);
  }
  return others.empty() ? none_ : others[0];
}

Result<NumberId> NumberSets::outside(NumberId a) {
  if (a == none_) return all_;
  at(a);
  return intern(TRY(difference(at(all_), at(a))));
}

Result<Automaton> NumberSets::shortest(NumberId id) {
  const bool whole = TRY(both(id, integers_)) == id;
  at(id);
  return product(at(id), short_spellings(!whole, !whole), true);
}

}  // namespace brass::grammar::schema
