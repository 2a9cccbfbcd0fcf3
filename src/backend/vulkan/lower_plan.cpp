#include "backend/vulkan/lower_plan.h"

#include "backend/vulkan/lowering_decode.h"
#include "backend/vulkan/overlap.h"

namespace brass::vulkan {
namespace {

Result<std::vector<Dispatch>> lower_step(const Target& target, const Step& step) {
  if (auto few = TRY(lower_decode(target, step))) return std::move(*few);
  std::vector<Dispatch> all;
  for (const uint32_t o : step.ops)
    for (Dispatch& d : TRY(lower(target, target.plan.ops[o]))) all.push_back(std::move(d));
  return all;
}

}  // namespace

Result<Lowered> lower_plan(const Target& target) {
  Lowered out;
  bool barrier = false;
  for (const Step& step : target.plan.steps) {
    std::vector<Dispatch>& made = out.steps.emplace_back(TRY(lower_step(target, step)));
    if (target.unplaced >= 0)
      return fail("step '{}' reads or writes '{}', which has no place in memory",
                  target.plan.ops[step.ops[0]].name, target.plan.value(target.unplaced).name);
    barrier = barrier || step.barrier;
    if (made.empty()) continue;
    made.front().barrier = made.front().barrier || barrier;
    barrier = false;
  }
  if (target.counters != 0) out.counts = TRY(overlap(target, out.steps));
  return out;
}

}  // namespace brass::vulkan
