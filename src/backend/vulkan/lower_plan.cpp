#include "backend/vulkan/lower_plan.h"

#include "backend/vulkan/lowering_decode.h"

namespace brass::vulkan {

Result<std::vector<std::vector<Dispatch>>> lower_plan(const Target& target) {
  std::vector<std::vector<Dispatch>> steps;
  for (const Step& step : target.plan.steps) {
    std::vector<Dispatch>& all = steps.emplace_back();
    if (auto few = TRY(lower_decode(target, step))) {
      all = std::move(*few);
      continue;
    }
    for (const uint32_t o : step.ops)
      for (Dispatch& d : TRY(lower(target, target.plan.ops[o]))) all.push_back(std::move(d));
  }
  return steps;
}

}  // namespace brass::vulkan
