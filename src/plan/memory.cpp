// Declared ranges, barriers, and the checker that proves them.
#include <algorithm>
#include <map>

#include "plan/plan.h"

namespace brass {
namespace {

Range value_range(const Plan& plan, ValueId v) {
  const Placed& p = plan.place(v);
  const bool is_private = p.storage == Storage::kPrivate;
  return {Range::Space::kArena, p.offset, p.offset + p.bytes * (is_private ? plan.caps.threads : 1),
          is_private};
}

bool overlap(const Range& a, const Range& b) {
  if (a.space != b.space) return false;
  if (a.space == Range::Space::kKv) return a.begin == b.begin && a.end == b.end;
  if (a.is_private && b.is_private && a.begin == b.begin && a.end == b.end) return false;  // own copy each
  return a.begin < b.end && b.begin < a.end;
}

bool any_overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::ranges::any_of(a, [&](const Range& x) {
    return std::ranges::any_of(b, [&](const Range& y) { return overlap(x, y); });
  });
}

bool conflict(const Step& earlier, const Step& later) {
  return any_overlap(earlier.writes, later.reads) || any_overlap(earlier.reads, later.writes) ||
         any_overlap(earlier.writes, later.writes);
}

void declare_memory(const Op& op, Step& step) {
  if (op.kind == OpKind::kKvWrite) {
    const auto& a = op.as<KvAttrs>();
    step.writes.push_back({Range::Space::kKv, a.group, a.layer, false});
  } else if (op.kind == OpKind::kAttention) {
    const auto& a = op.as<AttentionAttrs>();
    step.reads.push_back({Range::Space::kKv, a.group, a.layer, false});
  }
}

}  // namespace

void declare_ranges(Plan& plan) {
  for (Step& step : plan.steps) {
    step.reads.clear();
    step.writes.clear();
    for (const uint32_t o : step.ops) {
      const Op& op = plan.ops[o];
      for (const ValueId v : op.in)
        if (plan.place(v).storage != Storage::kInternal) step.reads.push_back(value_range(plan, v));
      for (const ValueId v : op.out)
        if (plan.place(v).storage != Storage::kInternal) step.writes.push_back(value_range(plan, v));
      declare_memory(op, step);
    }
  }
}

void place_barriers(Plan& plan) {
  size_t since = 0;  // first step after the last barrier
  for (size_t i = 0; i < plan.steps.size(); i++) {
    plan.steps[i].barrier = false;
    for (size_t j = since; j < i && !plan.steps[i].barrier; j++)
      plan.steps[i].barrier = conflict(plan.steps[j], plan.steps[i]);
    if (plan.steps[i].barrier) since = i;
  }
}

namespace {

// Writes and reads of one layer's memory keep the order in which the graph has them.
class MemoryOrder {
 public:
  bool keeps(const Op& op, uint32_t index) {
    Step touched;
    declare_memory(op, touched);
    for (const Range& range : touched.reads) {
      Latest& latest = latest_[{range.begin, range.end}];
      if (latest.write > index) return false;
      latest.read = std::max<int64_t>(latest.read, index);
    }
    for (const Range& range : touched.writes) {
      Latest& latest = latest_[{range.begin, range.end}];
      if (std::max(latest.read, latest.write) > index) return false;
      latest.write = index;
    }
    return true;
  }

 private:
  struct Latest {  // operation that has run
    int64_t read = -1, write = -1;
  };
  std::map<std::pair<uint64_t, uint64_t>, Latest> latest_;  // by (group, layer)
};

Result<> check_order(const Plan& plan) {
  MemoryOrder memory;
  std::vector<bool> made(plan.values.size(), false);
  std::vector<uint32_t> runs(plan.ops.size(), 0);
  for (const Step& step : plan.steps) {
    for (const uint32_t o : step.ops) {
      runs[o]++;
      if (!memory.keeps(plan.ops[o], o))
        return fail("operation '{}' touches its layer's memory out of order", plan.ops[o].name);
      for (const ValueId v : plan.ops[o].in)
        if (!made[static_cast<size_t>(v)])
          return fail("step '{}' reads '{}' before it is made", plan.ops[step.ops[0]].name,
                      plan.value(v).name);
      for (const ValueId v : plan.ops[o].out) made[static_cast<size_t>(v)] = true;
    }
  }
  for (size_t o = 0; o < runs.size(); o++)
    if (runs[o] != 1) return fail("operation '{}' is in {} steps", plan.ops[o].name, runs[o]);
  return {};
}

// What has no place is made and read inside one step.
Result<> check_inside(const Plan& plan) {
  constexpr int64_t kNever = -1;
  std::vector<int64_t> made(plan.values.size(), kNever);  // in which step
  std::vector<bool> read(plan.values.size(), false);
  for (size_t s = 0; s < plan.steps.size(); s++)
    for (const uint32_t o : plan.steps[s].ops) {
      for (const ValueId v : plan.ops[o].out) made[static_cast<size_t>(v)] = static_cast<int64_t>(s);
      for (const ValueId v : plan.ops[o].in) {
        read[static_cast<size_t>(v)] = true;
        if (plan.place(v).storage == Storage::kInternal &&
            made[static_cast<size_t>(v)] != static_cast<int64_t>(s))
          return fail("step '{}' reads '{}', which has no place", plan.ops[plan.steps[s].ops[0]].name,
                      plan.value(v).name);
      }
    }
  for (size_t v = 0; v < made.size(); v++)
    if (made[v] != kNever && !read[v] && plan.placed[v].storage == Storage::kInternal)
      return fail("'{}' has no place, and nothing reads it", plan.values[v].name);
  return {};
}

// In the order in which values are made, each against those that are still read: few of all.
Result<> check_overlaps(const Plan& plan) {
  struct Live {
    ValueId value;
    Range range;
    uint32_t first, last;
  };
  std::vector<Live> stored, live;
  for (ValueId v = 0; v < static_cast<ValueId>(plan.values.size()); v++) {
    const Placed& p = plan.place(v);
    if (p.storage != Storage::kInternal) stored.push_back({v, value_range(plan, v), p.first, p.last});
  }
  std::ranges::stable_sort(stored, {}, &Live::first);
  for (const Live& b : stored) {
    if (b.range.end > plan.arena_bytes) return fail("'{}' lies past the arena", plan.value(b.value).name);
    std::erase_if(live, [&](const Live& a) { return a.last < b.first; });
    for (const Live& a : live)
      if (a.first <= b.last && a.range.begin < b.range.end && b.range.begin < a.range.end)
        return fail("'{}' and '{}' are live together and overlap in the arena", plan.value(a.value).name,
                    plan.value(b.value).name);
    live.push_back(b);
  }
  return {};
}

Result<> check_hazards(const Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    bool separated = false;
    for (size_t j = i; j-- > 0 && !separated;) {
      separated = plan.steps[j + 1].barrier;
      if (!separated && conflict(plan.steps[j], plan.steps[i]))
        return fail("steps {} ('{}') and {} ('{}') touch the same bytes without a barrier", j,
                    plan.ops[plan.steps[j].ops[0]].name, i, plan.ops[plan.steps[i].ops[0]].name);
    }
  }
  return {};
}

}  // namespace

Result<> check_plan(const Plan& plan) {
  TRY_VOID(check_order(plan));
  TRY_VOID(check_inside(plan));
  TRY_VOID(check_overlaps(plan));
  return check_hazards(plan);
}

}  // namespace brass
