// Parts in any order: which are still possible, and the way from one to the next.
#include <algorithm>
#include <set>

#include "text/grammar/walk.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

namespace {

constexpr size_t kMostKeys = 1024;  // that are told apart; a text with more is not judged
constexpr int kForgotten = -1;      // the number of a key whose name is not known

// Whether keys must be told apart, for their number matters. Until there are enough of them, none comes twice: what was
// there is as many as there are different ones.
bool tracks(const AnyOrder& order) {
  return order.distinct ||
         (order.min > 1 && std::any_of(order.parts.begin(), order.parts.end(),
                                       [](const AnyOrder::Part& part) { return part.again.has_value(); }));
}

bool still_tracks(const AnyOrder& order, int count) {
  return tracks(order) && (order.distinct || count < order.min);
}

}  // namespace

uint32_t Walk::first_taken(int order) {
  return intern_taken(
      {.order = order, .used = std::vector<bool>(grammar_.orders[static_cast<size_t>(order)].parts.size())});
}

uint32_t Walk::take_part(uint32_t taken, size_t part) {
  Taken next = taken_[taken];
  next.count++;
  next.used[part] = true;
  return intern_taken(std::move(next));
}

uint32_t Walk::take_key(uint32_t taken, size_t part, const std::u32string& key) {
  Taken next = taken_[taken];
  next.count++;
  next.used[part] = true;
  int number = kForgotten;
  if (key != kNameless) {
    const auto [known, fresh] = key_numbers_.try_emplace(key, static_cast<int>(key_texts_.size()));
    if (fresh) key_texts_.push_back(key), key_bytes_ += key.size() * 2 * sizeof(char32_t);
    number = known->second;
  }
  next.keys.emplace_back(static_cast<int>(part), number);
  std::sort(next.keys.begin(), next.keys.end());
  return intern_taken(std::move(next));
}

// What two that are alike have in common.
std::string Walk::name_of(const Taken& taken) {
  std::string key = std::to_string(taken.order) + ":" + std::to_string(taken.count) + ":";
  for (const bool used : taken.used) key += used ? '1' : '0';
  for (const auto& [part, number] : taken.keys)
    key += ":" + std::to_string(part) + ":" + std::to_string(number);
  return key;
}

uint32_t Walk::intern_taken(Taken taken) {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  const int least = tracks(order) ? order.min : 0;
  if (order.max < 0) taken.count = std::min(taken.count, least);
  if (!still_tracks(order, taken.count)) taken.keys.clear();
  const auto [found, fresh] = taken_by_key_.try_emplace(name_of(taken), static_cast<uint32_t>(taken_.size()));
  if (fresh) {
    key_bytes_ += found->first.size() + taken.keys.size() * sizeof(taken.keys[0]);
    find_allowed(taken);
    taken_.push_back(std::move(taken));
  }
  return found->second;
}

// Keeps what these items need of what was there, and of keys, under new numbers.
void Walk::collect_keys(std::span<Item> pool) {
  std::vector<Taken> taken;
  std::vector<Tracked> tracked;
  std::deque<std::u32string> texts;
  std::unordered_map<uint32_t, uint32_t> taken_moved, tracked_moved;
  std::unordered_map<int, int> texts_moved = {{kForgotten, kForgotten}};
  const auto move = [](uint32_t& id, auto& moved, auto& from, auto& to) {
    const auto [place, fresh] = moved.try_emplace(id, static_cast<uint32_t>(to.size()));
    if (fresh) to.push_back(std::move(from[id]));
    id = place->second;
  };
  for (Item& item : pool) {
    const bool part = item.kind == FrameKind::kPartKey;
    if (part || item.kind == FrameKind::kAnyOrder) move(item.x, taken_moved, taken_, taken);
    if (part || item.kind == FrameKind::kTracked) move(item.y, tracked_moved, tracked_, tracked);
  }
  for (Taken& one : taken) {
    for (auto& [part, number] : one.keys) {
      const auto [place, fresh] = texts_moved.try_emplace(number, static_cast<int>(texts.size()));
      if (fresh) texts.push_back(std::move(key_texts_[static_cast<size_t>(number)]));
      number = place->second;
    }
    std::sort(one.keys.begin(), one.keys.end());
  }
  taken_.clear(), tracked_.clear(), taken_by_key_.clear(), tracked_by_key_.clear(), key_numbers_.clear();
  key_texts_ = std::move(texts);
  key_bytes_ = 0;
  for (size_t i = 0; i < key_texts_.size(); i++) key_numbers_.emplace(key_texts_[i], static_cast<int>(i));
  for (Taken& one : taken) intern_taken(std::move(one));
  for (Tracked& one : tracked) intern_tracked(std::move(one));
}

// How many keys a part that comes again still has; no more than is enough.
int64_t Walk::keys_left(const Taken& taken, size_t part, int64_t enough) {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  const auto used = std::count_if(taken.keys.begin(), taken.keys.end(),
                                  [&](const auto& key) { return key.first == static_cast<int>(part); });
  if (!still_tracks(order, taken.count)) return enough;
  return grammar_.regexes.count_strings(order.parts[part].again->regex, enough + used) - used;
}

// Which part may come next, such that what must still come, of what is required and for `min`, fits under `max` and is
// there.
void Walk::find_allowed(Taken& taken) {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  int missing = 0, different = 0;
  int64_t left = 0;
  for (size_t i = 0; i < order.parts.size(); ++i) {
    const AnyOrder::Part& part = order.parts[i];
    different += taken.used[i];
    missing += part.required && !taken.used[i];
    left += part.again ? keys_left(taken, i, order.min + 1) : !taken.used[i];
  }
  if (tracks(order)) different = taken.count;
  const bool full = order.distinct && taken.keys.size() >= kMostKeys;
  limited_ |= full;
  taken.closes = missing == 0 && different >= order.min;
  taken.allowed.assign(order.parts.size(), false);
  taken.any = false;
  for (size_t i = 0; i < order.parts.size(); ++i) {
    const AnyOrder::Part& part = order.parts[i];
    const bool fresh = !taken.used[i], counts = fresh || tracks(order);
    if (part.again ? full || keys_left(taken, i, 1) <= 0 : !fresh) continue;
    const int to_come = std::max(missing - (fresh && part.required), order.min - different - counts);
    if (order.max >= 0 && taken.count + 1 + std::max(to_come, 0) > order.max) continue;
    if (left - 1 < order.min - different - counts) continue;
    taken.allowed[i] = taken.any = true;
  }
}

void Walk::enter_part(NodeId id, uint32_t taken, SetId below, Items& out) {
  const auto order = static_cast<size_t>(taken_[taken].order);
  const bool keys_matter = still_tracks(grammar_.orders[order], taken_[taken].count);
  for (size_t i = 0; i < grammar_.orders[order].parts.size(); ++i) {
    if (!taken_[taken].allowed[i]) continue;
    if (keys_matter && grammar_.orders[order].parts[i].again) {
      begin_key(id, taken, i, below, out);
      continue;
    }
    const uint32_t next = take_part(taken, i);
    const bool last = !taken_[next].any;
    if (last && !taken_[next].closes) continue;
    enter(grammar_.orders[order].parts[i].body,
          last ? below : single({FrameKind::kAnyOrder, id, next, 0, 0, below}), out);
  }
}

bool Walk::reads_part_key(SetId set) const {
  return std::ranges::any_of(items(set), [](const Item& item) { return item.kind == FrameKind::kPartKey; });
}

// What keys that were there of the same part go on with, where they begin as this one does.
std::vector<std::u32string_view> Walk::alike(uint32_t taken, const Tracked& key) const {
  std::vector<std::u32string_view> out;
  if (key.key == kNameless) return out;
  for (const auto& [part, number] : taken_[taken].keys) {
    if (part != key.pattern || number == kForgotten) continue;
    const std::u32string_view text = key_texts_[static_cast<size_t>(number)];
    if (text.starts_with(key.key)) out.push_back(text.substr(key.key.size()));
  }
  return out;
}

// Whether the language holds more texts than the rivals, which are all in it.
bool Walk::has_others(RegexId regex, size_t rivals) {
  return rivals == 0 || grammar_.regexes.count_strings(regex, static_cast<int64_t>(rivals) + 1) >
                            static_cast<int64_t>(rivals);
}

// A part whose key must be another than those before it.
void Walk::begin_key(NodeId id, uint32_t taken, size_t part, SetId below, Items& out) {
  const AnyOrder::Key& key = *grammar_.orders[static_cast<size_t>(taken_[taken].order)].parts[part].again;
  const Tracked begun = {static_cast<int>(part), key.regex, 0, {}};
  if (!has_others(key.regex, alike(taken, begun).size())) return;
  const Item item = {FrameKind::kPartKey, id, taken, intern_tracked(begun), 0, below};
  if (key.before < 0)
    out.push_back(item);
  else
    enter(key.before, single(item), out);
}

// What may stand behind the key, if it ends here.
void Walk::behind_key(const Item& item, Items& out) {
  const Tracked key = tracked_[item.y];
  const auto part = static_cast<size_t>(key.pattern);
  const NodeId behind = grammar_.orders[static_cast<size_t>(taken_[item.x].order)].parts[part].again->behind;
  const uint32_t next = take_key(item.x, part, key.key);
  if (!taken_[next].any && !taken_[next].closes) return;
  const Item rest = {FrameKind::kAnyOrder, item.node, next, 0, 0, item.below};
  enter(behind, taken_[next].any ? single(rest) : item.below, out);
  if (!grammar_.at(behind).nullable) return;
  if (taken_[next].any)
    after_part(rest, out);
  else
    append(after(item.below), out);
}

void Walk::step_part_key(const Item& item, uint8_t byte, Items& out) {
  Tracked tracked = tracked_[item.y];
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken_[item.x].order)];
  const AnyOrder::Key& key = *order.parts[static_cast<size_t>(tracked.pattern)].again;
  std::vector<std::u32string_view> rivals = alike(item.x, tracked);
  const bool new_one = std::ranges::none_of(rivals, [](std::u32string_view rest) { return rest.empty(); });
  if (tracked.spelling == 0 && new_one && grammar_.regexes.matches_empty(tracked.regex)) {
    // Only where the byte belongs to what is behind is the key one that was there.
    Items probe, found;
    enter(key.behind, item.below, probe);
    if (grammar_.at(key.behind).nullable) {
      append(after(item.below), probe);
      if (order.separator >= 0) enter(order.separator, item.below, probe);
    }
    const auto reads = [&](const Item& next) {
      return (first_bytes(next)[byte / 64] >> (byte % 64) & 1) != 0;
    };
    if (std::any_of(probe.begin(), probe.end(), reads)) {
      behind_key(item, found);
      for (const Item& next : found) step_item(next, byte, out);
    }
  }
  if (!step_new_key(tracked, key.spelling, byte, std::move(rivals))) return;
  Item next = item;
  next.y = intern_tracked(std::move(tracked));
  out.push_back(next);
}

// As step_tracked_key, but towards a text that is none of the rivals.
bool Walk::step_new_key(Tracked& tracked, Spelling spelling, uint8_t byte,
                        std::vector<std::u32string_view> rivals) {
  std::erase_if(rivals, [](std::u32string_view rest) { return rest.empty(); });
  const auto others_behind = [&](char32_t point, RegexId target) {
    const auto same = std::ranges::count_if(rivals, [&](std::u32string_view r) { return r[0] == point; });
    return has_others(target, static_cast<size_t>(same));
  };
  const SpelledStep step = spell(spelling, tracked.spelling, byte);
  if (step.what == Spelled::kDead) return false;
  const auto edges = grammar_.regexes.edges(tracked.regex);
  if (step.what == Spelled::kPartial) {
    bool possible = false;
    candidates(step.value, [&](char32_t low, char32_t high) {
      for (const auto& edge : edges) {
        const char32_t from = std::max<char32_t>(low, edge.low), to = std::min<char32_t>(high, edge.high);
        std::set<char32_t> taken;
        for (const std::u32string_view r : rivals)
          if (r[0] >= from && r[0] <= to) taken.insert(r[0]);
        possible |=
            from <= to && (to - from >= taken.size() || std::ranges::any_of(taken, [&](char32_t point) {
                             return others_behind(point, edge.target);
                           }));
      }
    });
    tracked.spelling = step.value;
    return possible;
  }
  for (const auto& edge : edges) {
    if (edge.low > step.value || edge.high < step.value) continue;
    if (!others_behind(step.value, edge.target)) return false;
    tracked.regex = edge.target;
    tracked.spelling = 0;
    const bool alone = std::ranges::none_of(rivals, [&](auto r) { return r[0] == step.value; });
    if (tracked.forgets && alone)
      tracked.key = std::u32string(kNameless);
    else if (tracked.key != kNameless)
      tracked.key.push_back(step.value);
    if (tracked.key == kNameless) tracked.forgets = false;
    return true;
  }
  return false;
}

// Behind a part, or behind the separator that follows one.
void Walk::after_part(const Item& item, Items& out) {
  const NodeId separator = grammar_.orders[static_cast<size_t>(grammar_.at(item.node).object)].separator;
  if (item.y == 1 || separator < 0) {
    enter_part(item.node, item.x, item.below, out);
  } else if (taken_[item.x].any) {
    Item next = item;
    next.y = 1;
    enter(separator, single(next), out);
    if (grammar_.at(separator).nullable) enter_part(item.node, item.x, item.below, out);
  }
  if (item.y == 0 && taken_[item.x].closes) append(after(item.below), out);
}

}  // namespace brass::grammar
