// Parts in any order: which are still possible, and the way from one to the next.
#include <algorithm>

#include "text/grammar/walk.h"

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

uint32_t Walk::intern_taken(Taken taken) {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  if (order.max < 0) taken.count = 0;
  std::string key = std::to_string(taken.order) + ":" + std::to_string(taken.count) + ":";
  for (const bool used : taken.used) key += used ? '1' : '0';
  const auto [found, fresh] = taken_by_key_.try_emplace(std::move(key), static_cast<uint32_t>(taken_.size()));
  if (fresh) {
    find_allowed(taken);
    taken_.push_back(std::move(taken));
  }
  return found->second;
}

// Which part may come next, such that what must still come, of what is required and for `min`, fits under `max`.
void Walk::find_allowed(Taken& taken) const {
  const AnyOrder& order = grammar_.orders[static_cast<size_t>(taken.order)];
  int missing = 0, different = 0;
  for (size_t i = 0; i < order.parts.size(); ++i) {
    different += taken.used[i];
    missing += order.parts[i].required && !taken.used[i];
  }
  taken.closes = missing == 0 && different >= order.min;
  taken.allowed.assign(order.parts.size(), false);
  taken.any = false;
  for (size_t i = 0; i < order.parts.size(); ++i) {
    const bool fresh = !taken.used[i];
    if (!fresh && !order.parts[i].again) continue;
    const int to_come = std::max(missing - (fresh && order.parts[i].required), order.min - different - fresh);
    if (order.max >= 0 && taken.count + 1 + std::max(to_come, 0) > order.max) continue;
    taken.allowed[i] = taken.any = true;
  }
}

void Walk::enter_part(NodeId id, uint32_t taken, SetId below, Items& out) {
  const auto order = static_cast<size_t>(taken_[taken].order);
  for (size_t i = 0; i < grammar_.orders[order].parts.size(); ++i) {
    if (!taken_[taken].allowed[i]) continue;
    const uint32_t next = take_part(taken, i);
    const bool last = !taken_[next].any;
    enter(grammar_.orders[order].parts[i].body,
          last ? below : single({FrameKind::kAnyOrder, id, next, 0, 0, below}), out);
  }
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
