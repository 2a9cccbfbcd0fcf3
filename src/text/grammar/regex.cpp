#include "text/grammar/regex.h"

#include <algorithm>

#include "base/check.h"
#include "text/grammar/regex_impl.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

constexpr size_t kMostNodes = 2'000'000;
constexpr size_t kMostMembers = 200'000;        // of one union
constexpr size_t kMostAllMembers = 20'000'000;  // of all of them
constexpr int64_t kMostCount = 1'000'000'000;   // larger counts mean this one: no text gets there

uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

int64_t plus(int64_t a, int64_t b) { return a < 0 || b < 0 ? -1 : std::min(a + b, kMostCount); }
int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a < 0 || b < 0 ? -1 : std::min(a * b, kMostCount);
}

}  // namespace

RegexArena::Impl::Impl() : table_(1 << 10, -1) {
  nothing = intern({.kind = RegexKind::kNothing});
  empty = intern({.kind = RegexKind::kEmpty, .nullable = true});
  any_point = set({{0, kLastPoint}});
  everything = repeat(any_point, 0, -1);
}

RegexId RegexArena::Impl::intern(RegexNode node, std::span<const RegexId> list) {
  uint64_t h = mix(static_cast<uint64_t>(node.kind),
                   static_cast<uint64_t>(node.min) << 32 | static_cast<uint32_t>(node.max));
  const bool has_list = node.kind == RegexKind::kOr || node.kind == RegexKind::kAnd;
  if (has_list) {
    for (const RegexId id : list) h = mix(h, static_cast<uint64_t>(id));
  } else {
    h = mix(mix(h, static_cast<uint32_t>(node.a)), static_cast<uint32_t>(node.b));
  }
  const size_t last = table_.size() - 1;
  size_t slot = (h ^ h >> 32) & last;
  for (; table_[slot] >= 0; slot = (slot + 1) & last) {
    const RegexNode& other = at(table_[slot]);
    if (other.kind != node.kind || other.min != node.min || other.max != node.max) continue;
    if (has_list ? std::ranges::equal(parts(table_[slot]), list) : other.a == node.a && other.b == node.b)
      return table_[slot];
  }
  if (nodes.size() >= kMostNodes || list.size() > kMostMembers ||
      members.size() + list.size() > kMostAllMembers) {
    exhausted = true;
    return nothing;
  }
  if (has_list) {
    node.a = static_cast<int32_t>(members.size());
    node.b = static_cast<int32_t>(list.size());
    members.insert(members.end(), list.begin(), list.end());
  }
  measure(node, list);
  const auto id = static_cast<RegexId>(nodes.size());
  table_[slot] = id;
  nodes.push_back(node);
  states.emplace_back();
  liveness.push_back(node.kind == RegexKind::kNothing ? -1 : node.guarded && !node.nullable ? 0 : 1);
  seen_.push_back(0);
  derived_.push_back(nothing);
  hashes_.push_back(h);
  if (nodes.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 4, -1);
    for (size_t i = 0; i < nodes.size(); ++i) {
      size_t free = (hashes_[i] ^ hashes_[i] >> 32) & (table_.size() - 1);
      while (table_[free] >= 0) free = (free + 1) & (table_.size() - 1);
      table_[free] = static_cast<int32_t>(i);
    }
  }
  return id;
}

// What follows from the parts of a new node.
void RegexArena::Impl::measure(RegexNode& node, std::span<const RegexId> list) const {
  const auto lengths = [&](int64_t shortest, int64_t longest) {
    node.shortest = static_cast<int32_t>(shortest), node.longest = static_cast<int32_t>(longest);
  };
  switch (node.kind) {
    case RegexKind::kNothing:
    case RegexKind::kEmpty:
      break;
    case RegexKind::kSet:
      lengths(1, 1);
      break;
    case RegexKind::kConcat: {
      const RegexNode &a = at(node.a), &b = at(node.b);
      node.nullable = a.nullable && b.nullable;
      node.guarded = a.guarded || b.guarded;
      lengths(plus(a.shortest, b.shortest), plus(a.longest, b.longest));
      break;
    }
    case RegexKind::kNot:
      node.nullable = !at(node.a).nullable;
      node.guarded = true;
      lengths(node.nullable ? 0 : 1, -1);
      break;
    case RegexKind::kRepeat: {
      const RegexNode& body = at(node.a);
      node.nullable = node.min == 0 || body.nullable;
      node.guarded = body.guarded;
      lengths(times(body.shortest, node.min), times(body.longest, node.max));
      break;
    }
    case RegexKind::kOr:
    case RegexKind::kAnd: {
      const bool is_or = node.kind == RegexKind::kOr;
      node.nullable = !is_or;
      node.guarded = !is_or;
      node.shortest = at(list[0]).shortest, node.longest = at(list[0]).longest;
      for (const RegexId id : list) {
        const RegexNode& part = at(id);
        node.nullable = is_or ? node.nullable || part.nullable : node.nullable && part.nullable;
        node.guarded |= part.guarded;
        node.shortest =
            is_or ? std::min(node.shortest, part.shortest) : std::max(node.shortest, part.shortest);
        if (is_or ? part.longest < 0 : node.longest < 0) {
          node.longest = part.longest;
        } else if (node.longest >= 0 && part.longest >= 0) {
          node.longest = is_or ? std::max(node.longest, part.longest) : std::min(node.longest, part.longest);
        }
      }
      break;
    }
  }
}

RegexId RegexArena::Impl::set(CodePoints points) {
  points = normalized(std::move(points));
  if (points.empty()) return nothing;
  uint64_t h = 1;
  for (const auto& [low, high] : points) h = mix(h, static_cast<uint64_t>(low) << 32 | high);
  const auto [begin, end] = set_by_hash_.equal_range(h);
  for (auto it = begin; it != end; ++it) {
    if (sets[static_cast<size_t>(it->second)] == points)
      return intern({.kind = RegexKind::kSet, .a = it->second});
  }
  const auto index = static_cast<int32_t>(sets.size());
  sets.push_back(std::move(points));
  set_by_hash_.emplace(h, index);
  return intern({.kind = RegexKind::kSet, .a = index});
}

RegexArena::Impl::Counted RegexArena::Impl::counted(RegexId id) const {
  const RegexNode& node = at(id);
  if (node.kind == RegexKind::kRepeat) return {node.a, node.min, node.max};
  if (node.kind == RegexKind::kOr && node.b == 2 && parts(id)[0] == empty) return {parts(id)[1], 0, 1};
  return {id, 1, 1};
}

RegexId RegexArena::Impl::concat(RegexId head, RegexId tail) {
  if (head == nothing || tail == nothing) return nothing;
  if (head == empty) return tail;
  std::vector<RegexId> heads;
  while (at(head).kind == RegexKind::kConcat) {
    heads.push_back(at(head).a);
    head = at(head).b;
  }
  heads.push_back(head);
  while (!heads.empty()) {
    const RegexId left = heads.back();
    heads.pop_back();
    if (tail == empty) {
      tail = left;
      continue;
    }
    const bool is_list = at(tail).kind == RegexKind::kConcat;
    const Counted l = counted(left), r = counted(is_list ? at(tail).a : tail);
    if (l.body == r.body) {  // x{1,2}x{3} = x{4,5}
      const RegexId joined = repeat(l.body, l.min + r.min, plus(l.max, r.max));
      if (!is_list) {
        tail = joined;
      } else {  // the new head may meet its like, too
        tail = at(tail).b;
        heads.push_back(joined);
      }
      continue;
    }
    tail = intern({.kind = RegexKind::kConcat, .a = left, .b = tail});
    if (tail == nothing) return nothing;
  }
  return tail;
}

RegexId RegexArena::Impl::repeat(RegexId body, int64_t min, int64_t max) {
  min = std::min(min, kMostCount), max = std::min(max, kMostCount);
  if (max == 0 || body == empty) return empty;
  if (body == nothing) return min == 0 ? empty : nothing;
  if (at(body).nullable) min = 0;
  if (at(body).kind == RegexKind::kOr && parts(body)[0] == empty) {  // (|x){n} = x{0,n}
    const auto list = parts(body);
    return repeat(any_of({list.begin() + 1, list.end()}), 0, max);
  }
  if (const RegexNode& inner = at(body); inner.kind == RegexKind::kRepeat && (inner.min <= 1 || min == max)) {
    // The counts k·min … k·max have no gap between one k and the next; of one k alone they have none anyway.
    return repeat(inner.a, times(inner.min, min), times(inner.max, max));
  }
  if (min == 1 && max == 1) return body;
  if (min == 0 && max == 1) return any_of({empty, body});
  return intern({.kind = RegexKind::kRepeat,
                 .a = body,
                 .min = static_cast<int32_t>(min),
                 .max = static_cast<int32_t>(max)});
}

RegexId RegexArena::Impl::negate(RegexId id) {
  if (id == nothing) return everything;
  if (id == everything) return nothing;
  if (id == empty) return repeat(any_point, 1, -1);
  if (at(id).kind == RegexKind::kNot) return at(id).a;
  return intern({.kind = RegexKind::kNot, .a = id});
}

RegexArena::RegexArena() : impl_(std::make_unique<Impl>()) {}
RegexArena::~RegexArena() = default;

RegexId RegexArena::nothing() { return impl_->nothing; }
RegexId RegexArena::empty() { return impl_->empty; }
RegexId RegexArena::all() { return impl_->everything; }

RegexId RegexArena::literal(std::string_view utf8) {
  std::vector<RegexId> points;
  for (size_t at = 0; at < utf8.size();) {
    const tokens::Utf8Step step = tokens::utf8_step(utf8, at);
    points.push_back(impl_->set({{step.code, step.code}}));
    at += step.length;
  }
  return concat(points);
}

namespace {

// The texts [low, high) of a sorted list, from the character `depth` on, which is the same before that.
RegexId literal_tree(RegexArena::Impl& arena, std::span<const std::u32string> texts, size_t depth) {
  const std::u32string &first = texts.front(), &last = texts.back();
  size_t shared = depth;
  while (shared < first.size() && shared < last.size() && first[shared] == last[shared]) ++shared;
  std::vector<RegexId> ways;
  size_t i = 0;
  while (i < texts.size() && texts[i].size() == shared) ++i;
  if (i > 0) ways.push_back(arena.empty);
  while (i < texts.size()) {
    const size_t begin = i;
    while (i < texts.size() && texts[i][shared] == texts[begin][shared]) ++i;
    const char32_t point = texts[begin][shared];
    ways.push_back(arena.concat(arena.set({{point, point}}),
                                literal_tree(arena, texts.subspan(begin, i - begin), shared + 1)));
  }
  RegexId out = arena.any_of(std::move(ways));
  for (size_t at = shared; at-- > depth;) out = arena.concat(arena.set({{first[at], first[at]}}), out);
  return out;
}

}  // namespace

RegexId RegexArena::any_literal(std::span<const std::string_view> utf8) {
  std::vector<std::u32string> texts;
  for (const std::string_view text : utf8) {
    std::u32string points;
    for (size_t at = 0; at < text.size();) {
      const tokens::Utf8Step step = tokens::utf8_step(text, at);
      points.push_back(step.code);
      at += step.length;
    }
    texts.push_back(std::move(points));
  }
  std::sort(texts.begin(), texts.end());
  return texts.empty() ? impl_->nothing : literal_tree(*impl_, texts, 0);
}

RegexId RegexArena::set(CodePoints points) { return impl_->set(std::move(points)); }

RegexId RegexArena::concat(std::span<const RegexId> parts) {
  RegexId out = impl_->empty;
  for (size_t i = parts.size(); i-- > 0;) out = impl_->concat(parts[i], out);
  return out;
}

RegexId RegexArena::any_of(std::span<const RegexId> parts) {
  return impl_->any_of({parts.begin(), parts.end()});
}
RegexId RegexArena::all_of(std::span<const RegexId> parts) {
  return impl_->all_of({parts.begin(), parts.end()});
}
RegexId RegexArena::without(RegexId language, RegexId removed) {
  return impl_->all_of({language, impl_->negate(removed)});
}
RegexId RegexArena::negate(RegexId language) { return impl_->negate(language); }

RegexId RegexArena::repeat(RegexId body, int min, int max) {
  ENSURE(min >= 0 && (max < 0 || min <= max), "counts {} to {}", min, max);
  return impl_->repeat(body, min, max);
}

bool RegexArena::matches_empty(RegexId id) const { return impl_->at(id).nullable; }
bool RegexArena::is_nothing(RegexId id) const {
  return id == impl_->nothing || impl_->liveness[static_cast<size_t>(id)] < 0;
}
bool RegexArena::is_live(RegexId id) { return impl_->is_live(id); }
int64_t RegexArena::count_strings(RegexId id, int64_t limit) {
  std::unordered_map<RegexId, int64_t> known;
  return impl_->is_live(id) ? impl_->count_strings(id, limit, known, 0) : 0;
}
RegexId RegexArena::derivative(RegexId id, char32_t point) { return impl_->derivative(id, point); }
std::span<const RegexArena::Edge> RegexArena::edges(RegexId id) { return impl_->edges(id); }
RegexId RegexArena::relaxed(RegexId id, int length) { return impl_->relaxed(id, length); }
RegexArena::Front RegexArena::front(RegexId id) const {
  const RegexNode& node = impl_->at(id);
  const bool is_list = node.kind == RegexKind::kConcat;
  const RegexNode* head = is_list ? &impl_->at(node.a) : &node;
  Front out{.most = 1, .rest = is_list ? node.b : impl_->empty};
  if (head->kind == RegexKind::kRepeat) {
    out.most = head->max < 0 ? INT32_MAX : head->max;
    head = &impl_->at(head->a);
  }
  if (head->kind != RegexKind::kSet || impl_->liveness[static_cast<size_t>(out.rest)] <= 0) return {};
  out.set = head->a;
  out.points = &impl_->sets[static_cast<size_t>(head->a)];
  return out;
}
bool RegexArena::exhausted() const { return impl_->exhausted; }

}  // namespace brass::grammar
