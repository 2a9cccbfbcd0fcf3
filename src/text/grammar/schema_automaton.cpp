#include "text/grammar/schema_automaton.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace brass::grammar::schema {
namespace {

using Row = Automaton::Row;

constexpr size_t kPoint = 11;

size_t column(char c) { return Automaton::kAlphabet.find(c); }

// Which states lead to one that accepts.
std::vector<uint8_t> alive(const Automaton& a) {
  std::vector<std::vector<int32_t>> back(a.next.size());
  std::vector<int32_t> open;
  std::vector<uint8_t> live(a.next.size(), 0);
  for (size_t s = 0; s < a.next.size(); s++) {
    for (const int32_t to : a.next[s])
      if (to >= 0) back[static_cast<size_t>(to)].push_back(static_cast<int32_t>(s));
    if (a.accepts[s] != 0) live[s] = 1, open.push_back(static_cast<int32_t>(s));
  }
  while (!open.empty()) {
    const auto state = static_cast<size_t>(open.back());
    open.pop_back();
    for (const int32_t from : back[state])
      if (live[static_cast<size_t>(from)] == 0) live[static_cast<size_t>(from)] = 1, open.push_back(from);
  }
  return live;
}

struct RowHash {
  size_t operator()(const std::array<int32_t, 13>& key) const {
    uint64_t h = 0x9E3779B97F4A7C15ull;
    for (const int32_t v : key) h = (h ^ static_cast<uint32_t>(v)) * 0xFF51AFD7ED558CCDull, h ^= h >> 29;
    return h;
  }
};

// Moore's refinement: states stay together while their successors are together.
std::vector<int32_t> classes_of(const Automaton& a, const std::vector<uint8_t>& live) {
  const size_t n = a.next.size();
  std::vector<int32_t> of(n);
  size_t count = 0;
  for (size_t s = 0; s < n; s++) of[s] = live[s] == 0 ? -1 : a.accepts[s];
  while (true) {
    std::unordered_map<std::array<int32_t, 13>, int32_t, RowHash> numbers;
    std::vector<int32_t> refined(n, -1);
    for (size_t s = 0; s < n; s++) {
      if (live[s] == 0) continue;
      std::array<int32_t, 13> key;
      key[12] = of[s];
      for (size_t c = 0; c < 12; c++) key[c] = a.next[s][c] < 0 ? -1 : of[static_cast<size_t>(a.next[s][c])];
      refined[s] = numbers.emplace(key, static_cast<int32_t>(numbers.size())).first->second;
    }
    of = std::move(refined);
    if (numbers.size() == count) return of;
    count = numbers.size();
  }
}

// States numbered as a walk from the first meets them. -1 in `of`: left out.
Automaton renumbered(const Automaton& a, const std::vector<int32_t>& of) {
  Automaton out;
  if (of[0] < 0) return {{Row{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}}, {0}};
  std::unordered_map<int32_t, int32_t> number{{of[0], 0}};
  std::vector<int32_t> walk{0};
  for (size_t i = 0; i < walk.size(); i++) {
    const auto state = static_cast<size_t>(walk[i]);
    Row row;
    for (size_t c = 0; c < row.size(); c++) {
      const int32_t to = a.next[state][c];
      row[c] = -1;
      if (to < 0 || of[static_cast<size_t>(to)] < 0) continue;
      const auto [place, fresh] =
          number.emplace(of[static_cast<size_t>(to)], static_cast<int32_t>(number.size()));
      if (fresh) walk.push_back(to);
      row[c] = place->second;
    }
    out.next.push_back(row);
    out.accepts.push_back(a.accepts[state]);
  }
  return out;
}

// A tree of the values' shortest spellings, to which the zeros that change nothing are added.
class ValueTree {
 public:
  ValueTree() { add_state(); }

  void insert(const std::string& text, bool fraction) {
    int32_t state = 0;
    for (const char c : text) state = child(state, column(c));
    ends_.emplace_back(state, fraction);
  }

  Automaton finish() {
    // Longer fractions first would meet marks that shorter ones set; the order does not matter: marks only add.
    for (const auto& [state, fraction] : ends_) {
      out_.accepts[static_cast<size_t>(state)] = 1;
      add_zeros(fraction ? state : child(state, kPoint));
    }
    return std::move(out_);
  }

 private:
  int32_t add_state() {
    Row row;
    row.fill(-1);
    out_.next.push_back(row);
    out_.accepts.push_back(0);
    return static_cast<int32_t>(out_.next.size() - 1);
  }

  int32_t child(int32_t state, size_t c) {
    if (out_.next[static_cast<size_t>(state)][c] < 0) {
      const int32_t fresh = add_state();
      out_.next[static_cast<size_t>(state)][c] = fresh;
    }
    return out_.next[static_cast<size_t>(state)][c];
  }

  // One zero or more from here are accepted, too.
  void add_zeros(int32_t state) {
    while (true) {
      int32_t& to = out_.next[static_cast<size_t>(state)][0];
      if (to == zeros_ && zeros_ >= 0) return;
      if (to < 0) break;
      state = to;
      out_.accepts[static_cast<size_t>(state)] = 1;
    }
    if (zeros_ < 0) {
      zeros_ = add_state();
      out_.accepts[static_cast<size_t>(zeros_)] = 1;
      out_.next[static_cast<size_t>(zeros_)][0] = zeros_;
    }
    out_.next[static_cast<size_t>(state)][0] = zeros_;
  }

  Automaton out_;
  int32_t zeros_ = -1;
  std::vector<std::pair<int32_t, bool>> ends_;
};

// Without loops but those of one state: from the back, each state is compared with those that it could equal.
std::vector<int32_t> classes_in_order(const Automaton& a, const std::vector<uint8_t>& live,
                                      const std::vector<int32_t>& order) {
  constexpr int32_t kSelf = -2;
  std::vector<int32_t> of(a.next.size(), -1);
  std::vector<std::array<int32_t, 13>> rows;  // of each class, a loop as the class's own number
  std::unordered_map<std::array<int32_t, 13>, int32_t, RowHash> numbers;  // a loop as kSelf
  for (size_t i = order.size(); i-- > 0;) {
    const auto state = static_cast<size_t>(order[i]);
    if (live[state] == 0) continue;
    std::array<int32_t, 13> key;
    key[12] = a.accepts[state];
    for (size_t c = 0; c < 12; c++) {
      const int32_t to = a.next[state][c];
      key[c] = to < 0 ? -1 : to == order[i] ? kSelf : of[static_cast<size_t>(to)];
    }
    // A state that steps into the loop of an equal one.
    for (size_t c = 0; c < 12 && of[state] < 0; c++) {
      if (key[c] < 0) continue;
      std::array<int32_t, 13> as_that = key;
      std::replace(as_that.begin(), as_that.begin() + 12, kSelf, key[c]);
      if (rows[static_cast<size_t>(key[c])] == as_that) of[state] = key[c];
    }
    if (of[state] >= 0) continue;
    const auto [place, fresh] = numbers.emplace(key, static_cast<int32_t>(rows.size()));
    of[state] = place->second;
    if (!fresh) continue;
    std::replace(key.begin(), key.begin() + 12, kSelf, of[state]);
    rows.push_back(key);
  }
  return of;
}

}  // namespace

std::optional<std::vector<int32_t>> in_order(const Automaton& a) {
  const size_t n = a.next.size();
  std::vector<int32_t> before(n, 0), order;
  for (size_t s = 0; s < n; s++)
    for (const int32_t to : a.next[s])
      if (to >= 0 && static_cast<size_t>(to) != s) before[static_cast<size_t>(to)]++;
  if (before[0] == 0) order.push_back(0);
  for (size_t i = 0; i < order.size(); i++)
    for (const int32_t to : a.next[static_cast<size_t>(order[i])])
      if (to >= 0 && to != order[i] && --before[static_cast<size_t>(to)] == 0) order.push_back(to);
  if (order.size() != n) return std::nullopt;
  return order;
}

Automaton minimal(const Automaton& automaton) {
  // What no walk reaches would only slow the refinement down.
  std::vector<int32_t> self(automaton.next.size());
  const std::vector<uint8_t> live = alive(automaton);
  for (size_t s = 0; s < self.size(); s++) self[s] = live[s] != 0 ? static_cast<int32_t>(s) : -1;
  const Automaton reached = renumbered(automaton, self);
  const std::vector<uint8_t> left = alive(reached);
  const auto order = in_order(reached);
  return renumbered(reached, order ? classes_in_order(reached, left, *order) : classes_of(reached, left));
}

Automaton automaton_of_values(const std::vector<Decimal>& values) {
  ValueTree tree;
  for (const Decimal& value : values) {
    const std::string text = plain(value);
    tree.insert(text, value.exponent < 0);
    if (value.digits.empty()) tree.insert("-" + text, false);
  }
  return minimal(tree.finish());
}

}  // namespace brass::grammar::schema
