#include "backend/vulkan/overlap.h"

#include <volk.h>

#include <algorithm>
#include <set>

#include "base/check.h"

namespace brass::vulkan {
namespace {

// As shaders/overlap.glsl has it. A memory transaction each, so that those who read one are not in the way of those who count.
struct Counter {
  uint32_t left, unused[1];
  uint64_t fault;
  uint32_t room[4];
};
static_assert(sizeof(Counter) == 32);
constexpr uint32_t kWaits = 1, kSays = 2;

// Most dispatches of a step are two; what a plan has more of goes by barriers.
uint64_t counters_of(const Plan& plan) { return 2 * plan.steps.size() + 2; }

using Group = std::vector<Dispatch*>;  // between two places of barriers

std::vector<Group> groups_of(std::vector<std::vector<Dispatch>>& steps) {
  std::vector<Group> groups;
  for (std::vector<Dispatch>& step : steps)
    for (Dispatch& d : step) {
      if (groups.empty() || d.barrier) groups.emplace_back();
      groups.back().push_back(&d);
    }
  return groups;
}

uint32_t workgroups_of(const Group& group) {
  uint64_t n = 0;
  for (const Dispatch* d : group) n += uint64_t{d->x} * d->y * d->z;
  return n < UINT32_MAX ? static_cast<uint32_t>(n) : 0;
}

bool can_wait(const Group& group) {
  return std::ranges::all_of(group, [](const Dispatch* d) { return d->near != 0; });
}

Result<> link(const Target& target, Dispatch& d, uint64_t counter, uint32_t part) {
  if (part != 0) {
    const uint64_t distance = d.near - counter;
    ENSURE(d.near > counter && distance <= UINT32_MAX, "{}: {} bytes from its counter", d.program, distance);
    d.push.put_last(static_cast<uint32_t>(distance));
    d.constants.push_back(part);
  }
  d.pipeline = TRY(target.programs.find(d.program, d.constants, true));
  return {};
}

}  // namespace

uint64_t counter_bytes(const Plan& plan) {
  return plan.key.t <= kFewRows ? (counters_of(plan) * sizeof(Counter) + 255) / 256 * 256 : 0;
}

Result<std::vector<uint32_t>> overlap(const Target& target, std::vector<std::vector<Dispatch>>& steps) {
  std::vector<Group> groups = groups_of(steps);
  std::vector<uint32_t> counts(std::min<uint64_t>(counters_of(target.plan), groups.size()), 0);
  for (size_t g = 1; g < counts.size(); g++)
    if (can_wait(groups[g - 1]) && can_wait(groups[g])) counts[g] = workgroups_of(groups[g - 1]);
  int64_t waits = 0;
  for (uint32_t& count : counts)
    if (count > 0 && waits++ == target.faulty_wait) count++;
  const auto linked = [&](size_t g) { return g < counts.size() && counts[g] > 0; };
  for (size_t g = 0; g < groups.size(); g++)
    for (Dispatch* d : groups[g]) {
      if (linked(g)) d->barrier = false;
      if (d->near == 0) continue;
      TRY_VOID(link(target, *d, target.counters + g * sizeof(Counter),
                    (linked(g) ? kWaits : 0) | (linked(g + 1) ? kSays : 0)));
    }
  return counts;
}

void set_counters(VkCommandBuffer commands, const Buffer& values, std::span<const uint32_t> counts,
                  uint64_t fault) {
  std::vector<Counter> counters;
  for (const uint32_t count : counts)
    counters.push_back({.left = count, .unused = {}, .fault = fault, .room = {}});
  constexpr size_t kMost = 65536 / sizeof(Counter);  // of one command
  for (size_t done = 0; done < counters.size(); done += kMost)
    vkCmdUpdateBuffer(commands, values.handle(), done * sizeof(Counter),
                      std::min(kMost, counters.size() - done) * sizeof(Counter), counters.data() + done);
  full_barrier(commands);
}

bool can_run_again(const BatchLayout& layout, uint32_t rows) {
  std::set<int32_t> read, written;
  for (const auto& [begin, count] : layout.waves)
    for (uint32_t i = begin; i < begin + count; i++) {
      read.insert(layout.data[layout.parts + 4 * i + 2]);
      written.insert(layout.data[layout.parts + 4 * i + 3]);
    }
  for (uint32_t t = 0; t < rows; t++) written.insert(layout.data[layout.snapshots + t]);
  written.erase(-1);
  return std::ranges::none_of(read, [&](int32_t page) { return written.contains(page); });
}

}  // namespace brass::vulkan
