// Objects: which members are still possible, and the way through one.
#include <algorithm>
#include <bit>

#include "text/grammar/walk.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

bool has(const std::vector<uint64_t>& bits, int place) {
  return (bits[static_cast<size_t>(place) / 64] >> (place % 64) & 1) != 0;
}
void put(std::vector<uint64_t>& bits, int place) {
  bits[static_cast<size_t>(place) / 64] |= uint64_t{1} << (place % 64);
}

template <class T>
void append_bytes(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

const ObjectData& Walk::object_of(const Item& item) const {
  return grammar_.objects[static_cast<size_t>(grammar_.at(item.node).object)];
}

// `item` in its next phase, once the space in front is read.
void Walk::phase(Item item, ObjectPhase next, Items& out) {
  item.kind = FrameKind::kObject;
  item.y = next;
  const NodeId space = object_of(item).members.space;
  if (space >= 0) {
    enter(space, single(item), out);
    if (!grammar_.at(space).nullable) return;
  }
  enter_phase(item, out);
}

void Walk::enter_phase(const Item& item, Items& out) {
  if (item.y == kAfterValue) return phase(item, kFurther, out);
  if (item.y != kValue) return out.push_back(item);
  const Members& members = object_of(item).members;
  const size_t names = members.named.size();
  const NodeId value = item.z < names ? members.named[item.z].value : members.patterns[item.z - names].value;
  Item rest = item;
  rest.y = kAfterValue;
  rest.z = 0;
  enter(value, single(rest), out);
  if (grammar_.at(value).nullable) enter_phase(rest, out);
}

void Walk::step_object(const Item& item, uint8_t byte, Items& out) {
  const Seen& seen = seen_[item.x];
  const bool more = seen.any_named || seen.any_pattern;
  switch (item.y) {
    case kOpen:
      if (byte == '{') phase(item, kFirst, out);
      return;
    case kFirst:
    case kFurther:
      if (byte == '}' && seen.closes) append(after(item.below), out);
      if (item.y == kFirst && byte == '"' && more) open_keys(item, out);
      if (item.y == kFurther && byte == ',' && more) phase(item, kKeyOnly, out);
      return;
    case kKeyOnly:
      if (byte == '"') open_keys(item, out);
      return;
    case kPatternQuote:
      if (byte == '"') {
        Item next = item;
        next.x = see_pattern(item.x, static_cast<int>(item.z), {});
        next.z += static_cast<uint32_t>(object_of(item).members.named.size());
        phase(next, kColon, out);
      }
      return;
    case kColon:
      if (byte == ':') phase(item, kValue, out);
      return;
    default:
      return;
  }
}

// Behind the quote that begins a key.
void Walk::open_keys(const Item& item, Items& out) {
  const ObjectData& object = object_of(item);
  if (seen_[item.x].any_named) out.push_back({FrameKind::kKey, item.node, item.x, 0, 0, item.below});
  if (!seen_[item.x].any_pattern) return;
  for (size_t i = 0; i < object.members.patterns.size(); ++i) {
    RegexId key = object.members.patterns[i].key;
    if (object.tracks) {
      std::vector<std::string> texts;
      for (const auto& [pattern, used] : seen_[item.x].keys) {
        if (pattern != static_cast<int>(i) || used == kNameless) continue;
        texts.emplace_back();
        for (const char32_t point : used) tokens::append_utf8(texts.back(), point);
      }
      const std::vector<std::string_view> views(texts.begin(), texts.end());
      key = grammar_.regexes.without(key, grammar_.regexes.any_literal(views));
      if (!grammar_.regexes.is_live(key)) continue;
      const uint32_t tracked = intern_tracked({static_cast<int>(i), key, 0, {}});
      out.push_back({FrameKind::kTracked, item.node, item.x, tracked, 0, item.below});
      continue;
    }
    const Item quote = {FrameKind::kObject,       item.node, item.x, kPatternQuote,
                        static_cast<uint32_t>(i), item.below};
    if (!grammar_.regexes.edges(key).empty()) {
      out.push_back({FrameKind::kTerminal, static_cast<int32_t>(Spelling::kJsonString),
                     static_cast<uint32_t>(key), 0, 0, single(quote)});
    }
    if (grammar_.regexes.matches_empty(key)) out.push_back(quote);
  }
}

void Walk::step_key(const Item& item, uint8_t byte, Items& out) {
  const ObjectData& object = object_of(item);
  const KeyNode& node = object.tree[item.y];
  if (item.z == 0 && byte == '"' && node.key >= 0) {
    if (!has(seen_[item.x].allowed, node.key)) return;
    Item next = item;
    next.x = see_named(item.x, node.key);
    next.z = static_cast<uint32_t>(object.sorted[static_cast<size_t>(node.key)]);
    return phase(next, kColon, out);
  }
  const SpelledStep step =
      spell(object.members.shortest_keys ? Spelling::kPlain : Spelling::kJsonString, item.z, byte);
  if (step.what == Spelled::kDead) return;
  const auto first = [&](char32_t point) {
    return std::partition_point(node.next.begin(), node.next.end(),
                                [&](const auto& e) { return e.first < point; });
  };
  const auto possible = [&](const auto& entry) {
    return key_possible(seen_[item.x], object.tree[static_cast<size_t>(entry.second)]);
  };
  Item next = item;
  if (step.what == Spelled::kPoint) {
    const auto entry = first(step.value);
    if (entry == node.next.end() || entry->first != step.value || !possible(*entry)) return;
    next.y = static_cast<uint32_t>(entry->second);
    next.z = 0;
    return out.push_back(next);
  }
  bool any = false;
  candidates(step.value, [&](char32_t low, char32_t high) {
    for (auto entry = first(low); !any && entry != node.next.end() && entry->first <= high; ++entry)
      any = possible(*entry);
  });
  next.z = step.value;
  if (any) out.push_back(next);
}

void Walk::step_tracked(const Item& item, uint8_t byte, Items& out) {
  RegexArena& regexes = grammar_.regexes;
  Tracked tracked = tracked_[item.y];
  if (tracked.spelling == 0 && byte == '"') {
    if (!regexes.matches_empty(tracked.regex)) return;
    Item next = item;
    next.x = see_pattern(item.x, tracked.pattern, tracked.key);
    next.z =
        static_cast<uint32_t>(object_of(item).members.named.size()) + static_cast<uint32_t>(tracked.pattern);
    return phase(next, kColon, out);
  }
  if (!step_tracked_key(tracked, Spelling::kJsonString, byte)) return;
  Item next = item;
  next.y = intern_tracked(std::move(tracked));
  out.push_back(next);
}

// Whether the key can go on with the byte; it does then.
bool Walk::step_tracked_key(Tracked& tracked, Spelling spelling, uint8_t byte) {
  const SpelledStep step = spell(spelling, tracked.spelling, byte);
  if (step.what == Spelled::kDead) return false;
  bool possible = false;
  const auto edges = grammar_.regexes.edges(tracked.regex);
  if (step.what == Spelled::kPartial) {
    candidates(step.value, [&](char32_t low, char32_t high) {
      for (const auto& edge : edges) possible |= edge.low <= high && edge.high >= low;
    });
    tracked.spelling = step.value;
    return possible;
  }
  for (const auto& edge : edges) {
    if (edge.low > step.value || edge.high < step.value) continue;
    tracked.regex = edge.target;
    possible = true;
    break;
  }
  if (tracked.key != kNameless) tracked.key.push_back(step.value);
  tracked.spelling = 0;
  return possible;
}

uint32_t Walk::intern_tracked(Tracked tracked) {
  std::string key;
  append_bytes(key, tracked.pattern);
  append_bytes(key, tracked.regex);
  append_bytes(key, tracked.spelling);
  append_bytes(key, tracked.forgets);
  for (const char32_t point : tracked.key) append_bytes(key, point);
  const auto [found, fresh] =
      tracked_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(tracked_.size()));
  if (fresh) {
    key_bytes_ += found->first.size() * 2;
    tracked_.push_back(std::move(tracked));
  }
  return found->second;
}

SetId Walk::nameless(SetId set) {
  const auto reads_key = [](const Item& item) {
    return item.kind == FrameKind::kTracked || item.kind == FrameKind::kPartKey;
  };
  if (std::ranges::none_of(items(set), reads_key)) return set;
  if (const auto found = nameless_.find(set); found != nameless_.end()) return found->second;
  Items all(items(set).begin(), items(set).end());
  for (Item& item : all) {
    if (!reads_key(item)) continue;
    Tracked tracked = tracked_[item.y];
    if (item.kind == FrameKind::kPartKey && !alike(item.x, tracked).empty())
      tracked.forgets = true;
    else
      tracked.key = std::u32string(kNameless);
    item.y = intern_tracked(std::move(tracked));
  }
  return nameless_[set] = intern(all);
}

uint32_t Walk::first_seen(int object) {
  const size_t keys = grammar_.objects[static_cast<size_t>(object)].sorted.size();
  return intern_seen({.object = object, .used = std::vector<uint64_t>(keys / 64 + 1)});
}

uint32_t Walk::see_named(uint32_t seen, int place) {
  const ObjectData& object = grammar_.objects[static_cast<size_t>(seen_[seen].object)];
  Seen next = seen_[seen];
  ++next.count;
  put(next.used, place);
  if (object.members.ordered) {
    for (size_t i = 0; i < object.sorted.size(); ++i) {
      if (object.sorted[i] < object.sorted[static_cast<size_t>(place)]) put(next.used, static_cast<int>(i));
    }
  }
  return intern_seen(std::move(next));
}

uint32_t Walk::see_pattern(uint32_t seen, int pattern, const std::u32string& key) {
  Seen next = seen_[seen];
  ++next.count;
  if (grammar_.objects[static_cast<size_t>(next.object)].tracks) {
    next.keys.emplace_back(pattern, key);
    std::sort(next.keys.begin(), next.keys.end());
  }
  return intern_seen(std::move(next));
}

uint32_t Walk::intern_seen(Seen seen) {
  const Members& members = grammar_.objects[static_cast<size_t>(seen.object)].members;
  if (members.max < 0) seen.count = std::min(seen.count, members.min);
  if (seen.count >= members.min) seen.keys.clear();  // their number no longer matters
  std::string key;
  append_bytes(key, seen.object);
  append_bytes(key, seen.count);
  for (const uint64_t word : seen.used) append_bytes(key, word);
  for (const auto& [pattern, text] : seen.keys) {
    append_bytes(key, pattern);
    append_bytes(key, text.size());
    for (const char32_t point : text) append_bytes(key, point);
  }
  const auto [found, fresh] = seen_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(seen_.size()));
  if (fresh) {
    find_allowed(seen);
    seen_.push_back(std::move(seen));
  }
  return found->second;
}

// Which member may come next, such that the object can still be finished: what is required must fit under `max`, and
// enough members must be left for `min`.
void Walk::find_allowed(Seen& seen) {
  const ObjectData& object = grammar_.objects[static_cast<size_t>(seen.object)];
  const Members& members = object.members;
  const auto places = static_cast<int>(object.sorted.size());
  const auto member = [&](int place) { return object.sorted[static_cast<size_t>(place)]; };
  const auto required = [&](int place) { return members.named[static_cast<size_t>(member(place))].required; };
  seen.allowed.assign(seen.used.size(), 0);
  seen.any_named = false;
  int missing = 0, left = 0, first_missing = INT32_MAX;
  for (int place = 0; place < places; ++place) {
    if (has(seen.used, place)) continue;
    ++left;
    if (!required(place)) continue;
    ++missing;
    first_missing = std::min(first_missing, member(place));
  }
  const int64_t enough = members.min + 1;
  int64_t keys = 0;  // that patterns still have
  for (size_t i = 0; i < members.patterns.size() && keys < enough; ++i) {
    const auto used = std::count_if(seen.keys.begin(), seen.keys.end(),
                                    [&](const auto& k) { return k.first == static_cast<int>(i); });
    keys += object.tracks && seen.count < members.min
                ? grammar_.regexes.count_strings(members.patterns[i].key, enough + used) - used
                : enough;
  }
  seen.closes = missing == 0 && seen.count >= members.min;
  const auto fits = [&](int still_missing) {
    return members.max < 0 || seen.count + 1 + still_missing <= members.max;
  };
  seen.any_pattern = keys > 0 && fits(missing);
  std::vector<int> later(object.sorted.size() + 1, 0);  // by member, in order: how many behind it are left
  if (members.ordered) {
    for (int place = 0; place < places; ++place)
      later[static_cast<size_t>(member(place))] += !has(seen.used, place);
    for (int i = places - 1; i >= 0; --i) later[static_cast<size_t>(i)] += later[static_cast<size_t>(i) + 1];
  }
  for (int place = 0; place < places; ++place) {
    if (has(seen.used, place) || !fits(missing - required(place))) continue;
    if (members.ordered && member(place) > first_missing) continue;
    const int then_left = members.ordered ? later[static_cast<size_t>(member(place)) + 1] : left - 1;
    if (seen.count + 1 + then_left + keys < members.min) continue;
    put(seen.allowed, place);
    seen.any_named = true;
  }
}

bool Walk::key_possible(const Seen& seen, const KeyNode& node) const {
  if (node.low >= node.high) return false;
  const auto first = static_cast<size_t>(node.low) / 64, last = static_cast<size_t>(node.high - 1) / 64;
  for (size_t word = first; word <= last; ++word) {
    uint64_t bits = seen.allowed[word];
    if (word == first) bits &= ~uint64_t{0} << (node.low % 64);
    if (word == last) bits &= ~uint64_t{0} >> (63 - (node.high - 1) % 64);
    if (bits != 0) return true;
  }
  return false;
}

}  // namespace brass::grammar
