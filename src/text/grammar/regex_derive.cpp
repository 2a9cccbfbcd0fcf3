// Derivatives and the states of the automaton that they make.
#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "text/grammar/regex_impl.h"

namespace brass::grammar {

namespace {

constexpr size_t kMostStatesForLiveness = 60'000;

// A random-looking number for a set, so that a sum of them tells which sets are in it.
uint64_t weight(int32_t set) {
  uint64_t z = (static_cast<uint64_t>(set) + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace

RegexId RegexArena::Impl::derivative(RegexId id, char32_t point) {
  ++round_;
  return derive(id, point);
}

RegexId RegexArena::Impl::derive(RegexId id, char32_t point) {
  if (seen_[static_cast<size_t>(id)] == round_) return derived_[static_cast<size_t>(id)];
  const RegexNode node = at(id);  // a copy: the store grows
  RegexId out = nothing;
  switch (node.kind) {
    case RegexKind::kNothing:
    case RegexKind::kEmpty:
      return nothing;
    case RegexKind::kSet:
      return contains(sets[static_cast<size_t>(node.a)], point) ? empty : nothing;
    case RegexKind::kConcat: {
      std::vector<RegexId> ways;
      for (RegexId rest = id;;) {  // a loop, for lists may be long
        const RegexNode part = at(rest);
        if (part.kind != RegexKind::kConcat) {
          ways.push_back(derive(rest, point));
          break;
        }
        const RegexId head = derive(part.a, point);
        ways.push_back(concat(head, part.b));
        if (!at(part.a).nullable) break;
        rest = part.b;
        if (seen_[static_cast<size_t>(rest)] == round_) {
          ways.push_back(derived_[static_cast<size_t>(rest)]);
          break;
        }
      }
      out = ways.size() == 1 ? ways[0] : any_of(std::move(ways));
      break;
    }
    case RegexKind::kOr:
    case RegexKind::kAnd: {
      std::vector<RegexId> list(parts(id).begin(), parts(id).end());
      for (RegexId& part : list) part = derive(part, point);
      out = node.kind == RegexKind::kOr ? any_of(std::move(list)) : all_of(std::move(list));
      break;
    }
    case RegexKind::kNot:
      out = negate(derive(node.a, point));
      break;
    case RegexKind::kRepeat: {
      const RegexId head = derive(node.a, point);
      const int max = node.max < 0 ? -1 : node.max - 1;
      out = head == nothing ? nothing : concat(head, repeat(node.a, std::max(node.min - 1, 0), max));
      break;
    }
  }
  seen_[static_cast<size_t>(id)] = round_;
  derived_[static_cast<size_t>(id)] = out;
  return out;
}

// The sets that decide the derivative of `id`.
void RegexArena::Impl::collect_sets(RegexId id, std::vector<int32_t>& out) {
  for (;;) {
    if (seen_[static_cast<size_t>(id)] == round_) return;
    seen_[static_cast<size_t>(id)] = round_;
    const RegexNode& node = at(id);
    switch (node.kind) {
      case RegexKind::kNothing:
      case RegexKind::kEmpty:
        return;
      case RegexKind::kSet:
        out.push_back(node.a);
        return;
      case RegexKind::kOr:
      case RegexKind::kAnd:
        for (const RegexId part : parts(id)) collect_sets(part, out);
        return;
      case RegexKind::kNot:
      case RegexKind::kRepeat:
        id = node.a;
        break;
      case RegexKind::kConcat:
        collect_sets(node.a, out);
        if (!at(node.a).nullable) return;
        id = node.b;
        break;
    }
  }
}

RegexState& RegexArena::Impl::state(RegexId id) {
  if (states[static_cast<size_t>(id)]) return *states[static_cast<size_t>(id)];
  auto made = std::make_unique<RegexState>();
  std::vector<int32_t> used = {at(any_point).a};
  ++round_;
  collect_sets(id, used);
  std::vector<std::pair<char32_t, uint64_t>> events;  // from this point on, the sum changes by so much
  for (const int32_t set : used) {
    for (const auto& [low, high] : sets[static_cast<size_t>(set)]) {
      events.emplace_back(low, weight(set));
      events.emplace_back(high + 1, -weight(set));
    }
  }
  std::sort(events.begin(), events.end());
  std::unordered_map<uint64_t, RegexId> targets;  // by class
  uint64_t sum = 0;
  for (size_t i = 0; i < events.size();) {
    const char32_t low = events[i].first;
    for (; i < events.size() && events[i].first == low; ++i) sum += events[i].second;
    if (sum == 0 || i == events.size()) continue;
    const auto [it, fresh] = targets.try_emplace(sum, nothing);
    if (fresh) it->second = derivative(id, low);
    if (it->second == nothing) continue;
    const char32_t high = events[i].first - 1;
    if (!made->raw.empty() && made->raw.back().target == it->second && made->raw.back().high + 1 == low) {
      made->raw.back().high = high;
    } else {
      made->raw.push_back({low, high, it->second});
    }
  }
  states[static_cast<size_t>(id)] = std::move(made);
  return *states[static_cast<size_t>(id)];
}

// Only counts at the very front, whose turns all read something: what comes behind them is reached after the same
// characters as before, or out of reach as before.
RegexId RegexArena::Impl::relaxed(RegexId id, int64_t length) {
  const RegexNode node = at(id);
  if (node.kind == RegexKind::kConcat) {
    const RegexId head = relaxed(node.a, length);
    return head == node.a ? id : concat(head, node.b);
  }
  if (node.kind == RegexKind::kOr) {
    std::vector<RegexId> list(parts(id).begin(), parts(id).end());
    bool changed = false;
    for (RegexId& part : list) changed |= part != std::exchange(part, relaxed(part, length));
    return changed ? any_of(std::move(list)) : id;
  }
  if (node.kind != RegexKind::kRepeat || at(node.a).nullable) return id;
  if (node.min > length) return repeat(node.a, length + 1, -1);
  return repeat(node.a, node.min, node.max > length ? -1 : node.max);
}

// Looks for a string, breadth first. All that lies on the way to one is live; if there is none, all that was seen is
// dead.
bool RegexArena::Impl::is_live(RegexId id) {
  if (liveness[static_cast<size_t>(id)] != 0) return liveness[static_cast<size_t>(id)] > 0;
  std::unordered_map<RegexId, RegexId> from = {{id, -1}};
  std::deque<RegexId> todo = {id};
  while (!todo.empty()) {
    const RegexId next = todo.front();
    todo.pop_front();
    if (from.size() > kMostStatesForLiveness) exhausted = true;
    if (exhausted) return false;
    const std::vector<Edge> raw = state(next).raw;
    for (const Edge& edge : raw) {
      const int8_t known = liveness[static_cast<size_t>(edge.target)];
      if (known > 0) {
        for (RegexId back = next; back >= 0; back = from[back]) liveness[static_cast<size_t>(back)] = 1;
        return true;
      }
      if (known == 0 && from.try_emplace(edge.target, next).second) todo.push_back(edge.target);
    }
  }
  for (const auto& [dead, parent] : from) liveness[static_cast<size_t>(dead)] = -1;
  return false;
}

int64_t RegexArena::Impl::count_strings(RegexId id, int64_t limit,
                                        std::unordered_map<RegexId, int64_t>& known, int depth) {
  constexpr int kDeepest = 1000;  // strings as long as that are more than anybody counts
  if (depth > kDeepest) return limit;
  const auto [found, fresh] = known.try_emplace(id, limit);  // met again on the way: a loop, so without end
  if (!fresh) return found->second;
  int64_t sum = at(id).nullable;
  for (const Edge& edge : std::vector<Edge>(edges(id))) {
    if (sum >= limit) break;
    sum +=
        static_cast<int64_t>(edge.high - edge.low + 1) * count_strings(edge.target, limit, known, depth + 1);
  }
  return known[id] = std::min(sum, limit);
}

const std::vector<RegexArena::Edge>& RegexArena::Impl::edges(RegexId id) {
  RegexState& found = state(id);
  if (!found.filtered) {
    std::vector<Edge> live;
    for (const Edge& edge : std::vector<Edge>(found.raw)) {
      if (is_live(edge.target)) live.push_back(edge);
    }
    found.edges = std::move(live);
    found.filtered = true;
  }
  return found.edges;
}

}  // namespace brass::grammar
