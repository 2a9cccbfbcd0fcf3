// Parts in any order: which are still possible, and the way from one to the next.
#include <algorithm>

#include "text/grammar/walk.h"
#include "text/tokenizer_utf8.h"

namespace brass::grammar {

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
  next.keys.emplace_back(static_cast<int>(part), key);
  std::sort(next.keys.begin(), next.keys.end());
  return intern_taken(std::move(next));
}

namespace {

// Whether keys must be told apart, for their number matters. Until there are enough of them, none comes twice: what was
// there is as many as there are different ones.
bool tracks(const AnyOrder& order) {
  return order.min > 1 && std::any_of(order.parts.begin(), order.parts.end(),
                                      [](const AnyOrder::Part& part) { return part.again.has_value(); });
}

}  // namespace

uint32_t Walk::intern_taken(Taken taken) {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  const int least = tracks(order) ? order.min : 0;
  if (order.max < 0) taken.count = std::min(taken.count, least);
  if (taken.count >= least) taken.keys.clear();
  std::string key = std::to_string(taken.order) + ":" + std::to_string(taken.count) + ":";
  for (const bool used : taken.used) key += used ? '1' : '0';
  for (const auto& [part, text] : taken.keys) {
    key += ":" + std::to_string(part) + ":" + std::to_string(text.size()) + ":";
    for (const char32_t point : text) key += std::to_string(static_cast<uint32_t>(point)) + ",";
  }
  const auto [found, fresh] = taken_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(taken_.size()));
  if (fresh) {
    find_allowed(taken);
    taken_.push_back(std::move(taken));
  }
  return found->second;
}

// How many keys a part that comes again still has; no more than is enough.
int64_t Walk::keys_left(const Taken& taken, size_t part, int64_t enough) {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  const auto used = std::count_if(taken.keys.begin(), taken.keys.end(),
                                  [&](const auto& key) { return key.first == static_cast<int>(part); });
  if (!tracks(order) || taken.count >= order.min) return enough;
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
  taken.closes = missing == 0 && different >= order.min;
  taken.allowed.assign(order.parts.size(), false);
  taken.any = false;
  for (size_t i = 0; i < order.parts.size(); ++i) {
    const AnyOrder::Part& part = order.parts[i];
    const bool fresh = !taken.used[i], counts = fresh || tracks(order);
    if (part.again ? keys_left(taken, i, 1) <= 0 : !fresh) continue;
    const int to_come = std::max(missing - (fresh && part.required), order.min - different - counts);
    if (order.max >= 0 && taken.count + 1 + std::max(to_come, 0) > order.max) continue;
    if (left - 1 < order.min - different - counts) continue;
    taken.allowed[i] = taken.any = true;
  }
}

void Walk::enter_part(NodeId id, uint32_t taken, SetId below, Items& out) {
  const auto order = static_cast<size_t>(taken_[taken].order);
  const bool keys_matter = tracks(grammar_.orders[order]) && taken_[taken].count < grammar_.orders[order].min;
  for (size_t i = 0; i < grammar_.orders[order].parts.size(); ++i) {
    if (!taken_[taken].allowed[i]) continue;
    if (keys_matter && grammar_.orders[order].parts[i].again) {
      begin_key(id, taken, i, below, out);
      continue;
    }
    const uint32_t next = take_part(taken, i);
    const bool last = !taken_[next].any;
    enter(grammar_.orders[order].parts[i].body,
          last ? below : single({FrameKind::kAnyOrder, id, next, 0, 0, below}), out);
  }
}

bool Walk::reads_part_key(SetId set) const {
  return std::ranges::any_of(items(set), [](const Item& item) { return item.kind == FrameKind::kPartKey; });
}

// A part whose key must be another than those before it.
void Walk::begin_key(NodeId id, uint32_t taken, size_t part, SetId below, Items& out) {
  const AnyOrder::Key& key = *grammar_.orders[static_cast<size_t>(taken_[taken].order)].parts[part].again;
  std::vector<std::string> texts;
  for (const auto& [other, used] : taken_[taken].keys) {
    if (other != static_cast<int>(part) || used == kNameless) continue;
    texts.emplace_back();
    for (const char32_t point : used) tokens::append_utf8(texts.back(), point);
  }
  RegexId regex = key.regex;
  if (!texts.empty()) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    regex = grammar_.regexes.without(regex, grammar_.regexes.any_literal(views));
  }
  if (!grammar_.regexes.is_live(regex)) return;
  const Item item = {
      FrameKind::kPartKey, id, taken, intern_tracked({static_cast<int>(part), regex, 0, {}}), 0, below};
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
  enter(behind,
        taken_[next].any ? single({FrameKind::kAnyOrder, item.node, next, 0, 0, item.below}) : item.below,
        out);
}

void Walk::step_part_key(const Item& item, uint8_t byte, Items& out) {
  Tracked tracked = tracked_[item.y];
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken_[item.x].order)];
  const AnyOrder::Key& key = *order.parts[static_cast<size_t>(tracked.pattern)].again;
  if (tracked.spelling == 0 && grammar_.regexes.matches_empty(tracked.regex)) {
    // Only where the byte belongs to what is behind is the key one that was there.
    Items probe, found;
    enter(key.behind, item.below, probe);
    const auto reads = [&](const Item& next) {
      return (first_bytes(next)[byte / 64] >> (byte % 64) & 1) != 0;
    };
    if (std::any_of(probe.begin(), probe.end(), reads)) {
      behind_key(item, found);
      for (const Item& next : found) step_item(next, byte, out);
    }
  }
  if (!step_tracked_key(tracked, key.spelling, byte)) return;
  Item next = item;
  next.y = intern_tracked(std::move(tracked));
  out.push_back(next);
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
