#include "text/grammar/walk.h"

#include <algorithm>

namespace brass::grammar {

namespace {

constexpr size_t kMostItems = 8192;  // of one set
constexpr int32_t kDeepest = 4096;   // frames of a stack

uint64_t mix(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 32);
}

uint64_t hash_of(std::span<const Item> items) {
  uint64_t h = items.size();
  for (const Item& item : items) {
    h = mix(h, static_cast<uint64_t>(item.kind) << 32 | static_cast<uint32_t>(item.node));
    h = mix(h, static_cast<uint64_t>(item.x) << 32 | item.y);
    h = mix(h, static_cast<uint64_t>(item.z) << 32 | static_cast<uint32_t>(item.below));
  }
  return h;
}

auto frame_order(const Item& item) { return std::tuple(item.kind, item.node, item.x, item.y, item.z); }

}  // namespace

Walk::Walk(const Grammar::Impl& grammar) : grammar_(grammar), sets_(1), table_(1 << 8, -1), hashes_(1, 0) {
  std::fill_n((sets_[kDead].next = std::make_unique<int32_t[]>(256)).get(), 256, kDead);
  sets_[kDead].after = kDead;
  const SetId bottom = single({});
  Items items;
  enter(grammar_.root, bottom, items);
  if (grammar_.at(grammar_.root).nullable) append(after(bottom), items);
  start_ = intern(items);
}

size_t Walk::bytes() const {
  return sets_.size() * (sizeof(Set) + 16) + pool_.size() * sizeof(Item) + step_tables_ * 1024 +
         (seen_.size() + taken_.size() + tracked_.size()) * 200 + key_bytes_;
}

SetId Walk::intern(Items& items) {
  std::erase_if(items, [](const Item& item) { return item.below == kDead && item.kind != FrameKind::kEnd; });
  limited_ |= items.size() > kMostItems;
  if (items.empty() || items.size() > kMostItems) return kDead;
  if (items.size() > 1) {
    std::sort(items.begin(), items.end(),
              [](const Item& l, const Item& r) { return frame_order(l) < frame_order(r); });
    size_t last = 0;
    for (size_t i = 1; i < items.size(); ++i) {
      if (items[i].same_frame(items[last])) {
        items[last].below = unite(items[last].below, items[i].below);
      } else {
        items[++last] = items[i];
      }
    }
    items.resize(last + 1);
  }
  const uint64_t h = hash_of(items);
  int32_t depth = 0;
  for (const Item& item : items) {
    depth = std::max(depth, sets_[static_cast<size_t>(item.below)].depth + 1);
  }
  limited_ |= depth > kDeepest;
  if (depth > kDeepest) return kDead;
  const auto same = [](const Item& l, const Item& r) { return l.same_frame(r) && l.below == r.below; };
  size_t slot = h & (table_.size() - 1);
  for (; table_[slot] >= 0; slot = (slot + 1) & (table_.size() - 1)) {
    const auto id = static_cast<size_t>(table_[slot]);
    if (hashes_[id] == h && std::ranges::equal(this->items(table_[slot]), items, same)) return table_[slot];
  }
  const auto id = static_cast<SetId>(sets_.size());
  table_[slot] = id;
  hashes_.push_back(h);
  sets_.push_back({.begin = pool_.size(), .count = static_cast<uint32_t>(items.size()), .depth = depth});
  pool_.insert(pool_.end(), items.begin(), items.end());
  if (sets_.size() * 2 > table_.size()) {
    table_.resize(table_.size() * 4);
    index_sets();
  }
  return id;
}

void Walk::index_sets() {
  std::fill(table_.begin(), table_.end(), -1);
  for (size_t i = 1; i < sets_.size(); ++i) {
    size_t free = hashes_[i] & (table_.size() - 1);
    while (table_[free] >= 0) free = (free + 1) & (table_.size() - 1);
    table_[free] = static_cast<int32_t>(i);
  }
}

// What lies below is older, so one pass from the newest finds all that is needed, and one from the oldest moves it.
void Walk::collect(std::span<SetId* const> roots) {
  std::vector<bool> needed(sets_.size());
  needed[kDead] = needed[static_cast<size_t>(start_)] = true;
  for (const SetId* root : roots) needed[static_cast<size_t>(*root)] = true;
  for (size_t i = sets_.size(); i-- > 1;) {
    if (!needed[i]) continue;
    for (const Item& item : items(static_cast<SetId>(i))) needed[static_cast<size_t>(item.below)] = true;
  }
  std::vector<Set> kept;
  Items pool;
  std::vector<SetId> moved(sets_.size(), kDead);
  for (size_t i = 0; i < sets_.size(); ++i) {
    if (!needed[i]) continue;
    moved[i] = static_cast<SetId>(kept.size());
    kept.push_back({.begin = pool.size(), .count = sets_[i].count, .depth = sets_[i].depth});
    for (Item item : items(static_cast<SetId>(i))) {
      item.below = moved[static_cast<size_t>(item.below)];
      pool.push_back(item);
    }
  }
  collect_keys(pool);
  for (const Set& set : kept)  // numbers are another order
    std::sort(pool.begin() + static_cast<std::ptrdiff_t>(set.begin),
              pool.begin() + static_cast<std::ptrdiff_t>(set.begin + set.count),
              [](const Item& l, const Item& r) { return frame_order(l) < frame_order(r); });
  kept[kDead].next = std::move(sets_[kDead].next);
  kept[kDead].after = kDead;
  sets_ = std::move(kept);
  pool_ = std::move(pool);
  hashes_.assign(1, 0);
  for (size_t i = 1; i < sets_.size(); ++i) hashes_.push_back(hash_of(items(static_cast<SetId>(i))));
  table_.assign(1 << 8, -1);
  while (table_.size() < sets_.size() * 2) table_.resize(table_.size() * 4);
  index_sets();
  united_.clear();
  relaxed_.clear();
  nameless_.clear();
  loops_.clear();
  step_tables_ = 0;
  start_ = moved[static_cast<size_t>(start_)];
  for (SetId* root : roots) *root = moved[static_cast<size_t>(*root)];
}

SetId Walk::single(const Item& item) {
  Items items = {item};
  return intern(items);
}

SetId Walk::unite(SetId a, SetId b) {
  if (a == b || b == kDead) return a;
  if (a == kDead) return b;
  const uint64_t key = static_cast<uint64_t>(std::min(a, b)) << 32 | static_cast<uint32_t>(std::max(a, b));
  if (const auto found = united_.find(key); found != united_.end()) return found->second;
  Items items;
  append(a, items);
  append(b, items);
  return united_[key] = intern(items);
}

void Walk::append(SetId set, Items& out) {
  const auto added = items(set);
  out.insert(out.end(), added.begin(), added.end());
}

// Adds what can read the first byte of a text of `id` that is not empty; then comes what `below` says.
void Walk::enter(NodeId id, SetId below, Items& out) {
  if (below == kDead) return;
  const Node& node = grammar_.at(id);
  switch (node.kind) {
    case NodeKind::kNothing:
    case NodeKind::kEmpty:
      return;
    case NodeKind::kText:
      out.push_back({FrameKind::kText, id, 0, 0, 0, below});
      return;
    case NodeKind::kTerminal:
      if (grammar_.regexes.edges(node.regex).empty()) return;
      out.push_back({FrameKind::kTerminal, static_cast<int32_t>(node.spelling),
                     static_cast<uint32_t>(node.regex), 0, 0, below});
      return;
    case NodeKind::kSequence:
      enter_parts(node, id, 0, below, out);
      return;
    case NodeKind::kChoice:
      for (const NodeId part : node.parts) enter(part, below, out);
      return;
    case NodeKind::kRule:
      enter(node.body, below, out);
      return;
    case NodeKind::kRepeat:
      begin_turn(node, id, 1, below, out);
      if (grammar_.at(node.body).nullable) enter_separator(node, id, 1, below, out);
      return;
    case NodeKind::kObject:
      out.push_back({FrameKind::kObject, id, first_seen(node.object), kOpen, 0, below});
      return;
    case NodeKind::kAnyOrder:
      enter_part(id, first_taken(node.object), below, out);
      return;
  }
}

// The parts of a sequence from one on. The last leaves nothing of the sequence below it.
void Walk::enter_parts(const Node& node, NodeId id, size_t from, SetId below, Items& out) {
  for (size_t i = from; i < node.parts.size(); ++i) {
    const bool last = i + 1 == node.parts.size();
    const SetId next =
        last ? below : single({FrameKind::kSequence, id, static_cast<uint32_t>(i + 1), 0, 0, below});
    enter(node.parts[i], next, out);
    if (!grammar_.at(node.parts[i]).nullable) return;
  }
}

// Turn number `turn` (the first is 1; where only the least number matters, no further than that).
void Walk::begin_turn(const Node& node, NodeId id, uint32_t turn, SetId below, Items& out) {
  if (node.max >= 0 && turn > static_cast<uint32_t>(node.max)) return;
  if (node.max < 0) turn = std::min(turn, static_cast<uint32_t>(std::max(node.min, 1)));
  const bool last = node.max >= 0 && turn == static_cast<uint32_t>(node.max);
  enter(node.body, last ? below : single({FrameKind::kRepeat, id, turn, 0, 0, below}), out);
}

void Walk::enter_separator(const Node& node, NodeId id, uint32_t turn, SetId below, Items& out) {
  if (node.separator < 0 || (node.max >= 0 && turn >= static_cast<uint32_t>(node.max))) return;
  enter(node.separator, single({FrameKind::kRepeat, id, turn, 1, 0, below}), out);
}

// What may follow turn number `turn` inside the repetition. A turn that reads nothing is only of use where a separator
// that reads something comes with it.
void Walk::after_turn(const Node& node, NodeId id, uint32_t turn, SetId below, Items& out) {
  enter_separator(node, id, turn, below, out);
  if (node.separator < 0 || grammar_.at(node.separator).nullable) begin_turn(node, id, turn + 1, below, out);
}

void Walk::leave(const Item& item, Items& out) {
  switch (item.kind) {
    case FrameKind::kEnd:
      out.push_back(item);
      return;
    case FrameKind::kSequence: {
      const Node& node = grammar_.at(item.node);
      enter_parts(node, item.node, item.x, item.below, out);
      const auto nullable = [&](NodeId part) { return grammar_.at(part).nullable; };
      if (std::all_of(node.parts.begin() + item.x, node.parts.end(), nullable))
        append(after(item.below), out);
      return;
    }
    case FrameKind::kRepeat: {
      const Node& node = grammar_.at(item.node);
      uint32_t turn = item.x;
      if (item.y == 1) {  // a separator has been read
        begin_turn(node, item.node, ++turn, item.below, out);
        if (!grammar_.at(node.body).nullable) return;
      }
      after_turn(node, item.node, turn, item.below, out);
      if (turn >= static_cast<uint32_t>(node.min)) append(after(item.below), out);
      return;
    }
    case FrameKind::kObject:
      enter_phase(item, out);
      return;
    case FrameKind::kAnyOrder:
      after_part(item, out);
      return;
    case FrameKind::kPartKey:  // what stands before it has been read
      out.push_back(item);
      return;
    default:
      return;
  }
}

SetId Walk::after(SetId set) {
  if (sets_[static_cast<size_t>(set)].after >= 0) return sets_[static_cast<size_t>(set)].after;
  Items out;
  const Items frames(items(set).begin(), items(set).end());
  for (const Item& item : frames) leave(item, out);
  const SetId found = intern(out);
  return sets_[static_cast<size_t>(set)].after = found;
}

SetId Walk::make_step(SetId set, uint8_t byte) {
  if (!sets_[static_cast<size_t>(set)].next) {
    open_table(set);
    if (const SetId known = sets_[static_cast<size_t>(set)].next[byte]; known >= 0) return known;
  }
  Items out;
  const Items frames(items(set).begin(), items(set).end());
  for (const Item& item : frames) step_item(item, byte, out);
  limited_ |= grammar_.regexes.exhausted();
  const SetId found = grammar_.regexes.exhausted() ? kDead : intern(out);
  sets_[static_cast<size_t>(set)].next[byte] = found;
  if (byte < 0x80 && found != kDead) spread(set, byte, found);
  return found;
}

void Walk::step_item(const Item& item, uint8_t byte, Items& out) {
  switch (item.kind) {
    case FrameKind::kText: {
      const std::string& text = grammar_.at(item.node).text;
      if (static_cast<uint8_t>(text[item.x]) != byte) return;
      if (item.x + 1 == text.size()) return append(after(item.below), out);
      out.push_back(item);
      out.back().x++;
      return;
    }
    case FrameKind::kTerminal:
      return step_terminal(item, byte, out);
    case FrameKind::kKey:
      return step_key(item, byte, out);
    case FrameKind::kTracked:
      return step_tracked(item, byte, out);
    case FrameKind::kPartKey:
      return step_part_key(item, byte, out);
    case FrameKind::kObject:
      return step_object(item, byte, out);
    default:
      return;
  }
}

namespace {

using Edges = std::span<const RegexArena::Edge>;

Edges::iterator edge_from(Edges edges, char32_t point) {
  return std::partition_point(edges.begin(), edges.end(),
                              [&](const auto& edge) { return edge.high < point; });
}

}  // namespace

namespace {

// Where an edge holds all that a character can become, its first bytes say nothing more: the state of another such
// character does as well, so there are few of them.
uint32_t canonical(Edges edges, uint32_t state) {
  using namespace spelling;
  if (mode_of(state) != kUtf8) return state;
  const uint32_t number = number_of(state), bits = 6 * (number & 3);
  const char32_t low = value_of(state) << bits, high = ((value_of(state) + 1) << bits) - 1;
  const char32_t least = number >> 2 == 0 ? 0x80 : number >> 2 == 1 ? 0x800 : 0x10000;
  const auto edge = edge_from(edges, low);
  if (low < least || edge == edges.end() || edge->low > low || edge->high < high) return state;
  const char32_t first = std::max(edge->low, least);
  return pack(kUtf8, number, (first + (1u << bits) - 1) >> bits);
}

}  // namespace

void Walk::step_terminal(const Item& item, uint8_t byte, Items& out) {
  RegexArena& regexes = grammar_.regexes;
  const Edges edges = regexes.edges(static_cast<RegexId>(item.x));
  const SpelledStep step = spell(static_cast<Spelling>(item.node), item.y, byte);
  if (step.what == Spelled::kDead) return;
  if (step.what == Spelled::kPartial) {
    bool possible = false;
    candidates(step.value, [&](char32_t low, char32_t high) {
      const auto edge = edge_from(edges, low);
      possible |= edge != edges.end() && edge->low <= high;
    });
    if (!possible) return;
    out.push_back(item);
    out.back().y = canonical(edges, step.value);
    return;
  }
  const auto edge = edge_from(edges, step.value);
  if (edge == edges.end() || edge->low > step.value) return;
  const RegexId target = edge->target;
  if (!regexes.edges(target).empty()) {
    out.push_back(item);
    out.back().x = static_cast<uint32_t>(target);
    out.back().y = 0;
  }
  if (regexes.matches_empty(target)) append(after(item.below), out);
}

bool Walk::can_end(SetId set) const {
  const auto all = items(set);
  return !all.empty() && all.front().kind == FrameKind::kEnd;
}

bool Walk::must_end(SetId set) const { return can_end(set) && items(set).size() == 1; }

}  // namespace brass::grammar
