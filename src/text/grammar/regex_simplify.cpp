// Unions and intersections: the similarity rules that keep the number of derivatives small.
#include <algorithm>

#include "text/grammar/regex_impl.h"

namespace brass::grammar {

namespace {

void sort_unique(std::vector<RegexId>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

}  // namespace

void RegexArena::Impl::flatten(std::vector<RegexId>& list, RegexKind kind) const {
  const size_t given = list.size();
  for (size_t i = 0; i < given; ++i) {
    if (at(list[i]).kind != kind) continue;
    const auto inner = parts(list[i]);
    list.insert(list.end(), inner.begin() + 1, inner.end());
    list[i] = inner[0];
  }
  sort_unique(list);
}

// All single code points as one set.
void RegexArena::Impl::merge_sets(std::vector<RegexId>& list, bool unite) {
  const auto is_set = [&](RegexId id) { return at(id).kind == RegexKind::kSet; };
  if (std::count_if(list.begin(), list.end(), is_set) < 2) return;
  CodePoints joined;
  bool first = true;
  for (const RegexId id : list) {
    if (!is_set(id)) continue;
    const CodePoints& points = sets[static_cast<size_t>(at(id).a)];
    if (unite) {
      joined.insert(joined.end(), points.begin(), points.end());
    } else {
      joined = first ? points : intersection(joined, points);
    }
    first = false;
  }
  std::erase_if(list, is_set);
  list.push_back(set(std::move(joined)));
  sort_unique(list);
}

// x{1,4}y | x{3,9}y = x{1,9}y: without this, a bounded count after an unanchored start is a state for each subset.
void RegexArena::Impl::merge_repeats(std::vector<RegexId>& list) {
  struct Row {
    RegexId body, tail;
    int64_t min, max;
    RegexId whole;
  };
  std::vector<Row> rows;
  bool any = false;
  for (const RegexId id : list) {
    const bool is_list = at(id).kind == RegexKind::kConcat;
    const Counted c = counted(is_list ? at(id).a : id);
    any |= c.max != 1;
    rows.push_back({c.body, is_list ? at(id).b : empty, c.min, c.max, id});
  }
  if (!any) return;
  std::sort(rows.begin(), rows.end(), [](const Row& l, const Row& r) {
    return std::tie(l.body, l.tail, l.min) < std::tie(r.body, r.tail, r.min);
  });
  list.clear();
  for (size_t i = 0; i < rows.size();) {
    Row joined = rows[i];
    size_t next = i + 1;
    for (; next < rows.size(); ++next) {
      const Row& other = rows[next];
      if (other.body != joined.body || other.tail != joined.tail) break;
      if (joined.max >= 0 && other.min > joined.max + 1) break;
      joined.max = joined.max < 0 || other.max < 0 ? -1 : std::max(joined.max, other.max);
    }
    list.push_back(next == i + 1 ? joined.whole
                                 : concat(repeat(joined.body, joined.min, joined.max), joined.tail));
    i = next;
  }
  sort_unique(list);
}

// xy | xz = x(y|z)
void RegexArena::Impl::factor(std::vector<RegexId>& list) {
  struct Row {
    RegexId head, tail, whole;
  };
  std::vector<Row> rows;
  for (const RegexId id : list) {
    const bool is_list = at(id).kind == RegexKind::kConcat;
    rows.push_back({is_list ? at(id).a : id, is_list ? at(id).b : empty, id});
  }
  const auto by_head = [](const Row& l, const Row& r) {
    return std::tie(l.head, l.tail) < std::tie(r.head, r.tail);
  };
  std::sort(rows.begin(), rows.end(), by_head);
  list.clear();
  for (size_t i = 0; i < rows.size();) {
    size_t next = i + 1;
    // Where the head may be empty there is nothing to win, and a chain of those would be taken apart to its end.
    while (next < rows.size() && rows[next].head == rows[i].head && !at(rows[i].head).nullable) ++next;
    if (next == i + 1) {
      list.push_back(rows[i].whole);
    } else {
      std::vector<RegexId> tails;
      for (size_t j = i; j < next; ++j) tails.push_back(rows[j].tail);
      list.push_back(concat(rows[i].head, any_of(std::move(tails))));
    }
    i = next;
  }
  sort_unique(list);
}

RegexId RegexArena::Impl::any_of(std::vector<RegexId> list) {
  flatten(list, RegexKind::kOr);
  std::erase(list, nothing);
  if (list.empty()) return nothing;
  if (std::binary_search(list.begin(), list.end(), everything)) return everything;
  if (list.size() > 1) {
    merge_sets(list, true);
    merge_repeats(list);
    factor(list);
    flatten(list, RegexKind::kOr);
    std::erase(list, nothing);
  }
  if (std::binary_search(list.begin(), list.end(), everything)) return everything;
  if (list.size() > 1 && list[0] == empty) {
    const auto is_nullable = [&](RegexId id) { return at(id).nullable; };
    // x{1,n} takes the empty string in as x{0,n}
    const auto from_one = std::find_if(list.begin() + 1, list.end(), [&](RegexId id) {
      return at(id).kind == RegexKind::kRepeat && at(id).min == 1;
    });
    if (std::any_of(list.begin() + 1, list.end(), is_nullable)) {
      list.erase(list.begin());
    } else if (from_one != list.end()) {
      *from_one = repeat(at(*from_one).a, 0, at(*from_one).max);
      list.erase(list.begin());
      sort_unique(list);
    }
  }
  if (list.empty()) return nothing;
  if (list.size() == 1) return list[0];
  return intern({.kind = RegexKind::kOr}, list);
}

// What is known about lengths: one .{m,n} for all of them, none where the others imply it. False: nothing has such a
// length.
bool RegexArena::Impl::bound_lengths(std::vector<RegexId>& list) {
  int64_t min = 0, max = -1, shortest = 0, longest = -1;
  const auto narrow = [](int64_t& bound, int64_t other) {
    if (other >= 0 && (bound < 0 || other < bound)) bound = other;
  };
  size_t kept = 0;
  for (const RegexId id : list) {
    const Counted c = counted(id);
    if (c.body == any_point) {
      min = std::max(min, c.min);
      narrow(max, c.max);
      continue;
    }
    shortest = std::max<int64_t>(shortest, at(id).shortest);
    narrow(longest, at(id).longest);
    list[kept++] = id;
  }
  list.resize(kept);
  if (max >= 0 && (min > max || shortest > max)) return false;
  if (longest >= 0 && (longest < min || shortest > longest)) return false;
  // x{a,b} of single characters takes the bounds in, so that it stays a plain count.
  for (RegexId& id : list) {
    const Counted c = counted(id);
    if (at(c.body).kind != RegexKind::kSet || (min == 0 && max < 0)) continue;
    const int64_t low = std::max(min, c.min);
    int64_t high = c.max;
    narrow(high, max);
    if (high >= 0 && low > high) return false;
    id = repeat(c.body, low, high);
    shortest = std::max<int64_t>(shortest, at(id).shortest);
    narrow(longest, at(id).longest);
  }
  const bool low_implied = shortest >= min;
  const bool high_implied = max < 0 || (longest >= 0 && longest <= max);
  if (!(low_implied && high_implied) || list.empty()) list.push_back(repeat(any_point, min, max));
  sort_unique(list);
  return true;
}

RegexId RegexArena::Impl::all_of(std::vector<RegexId> list) {
  flatten(list, RegexKind::kAnd);
  std::erase(list, everything);
  if (list.empty()) return everything;
  if (list[0] == nothing) return nothing;
  if (list.size() == 1) return list[0];
  if (std::binary_search(list.begin(), list.end(), empty)) {
    return std::all_of(list.begin(), list.end(), [&](RegexId id) { return at(id).nullable; }) ? empty
                                                                                              : nothing;
  }
  std::vector<RegexId> removed;
  for (const RegexId id : list) {
    if (at(id).kind != RegexKind::kNot) continue;
    removed.push_back(at(id).a);
    if (std::binary_search(list.begin(), list.end(), at(id).a)) return nothing;
  }
  if (removed.size() > 1) {
    std::erase_if(list, [&](RegexId id) { return at(id).kind == RegexKind::kNot; });
    list.push_back(negate(any_of(std::move(removed))));
    sort_unique(list);
    if (list[0] == nothing) return nothing;
  }
  merge_sets(list, false);
  if (list[0] == nothing || !bound_lengths(list)) return nothing;
  if (list.size() == 1) return list[0];
  return intern({.kind = RegexKind::kAnd}, list);
}

}  // namespace brass::grammar
