// A plan's steps as dispatches: steps of few rows by their own programs, the rest operation by operation.
//
// Owns: the choice between the two. Must not know: queues, how commands are recorded.
#pragma once

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

struct Lowered {
  std::vector<std::vector<Dispatch>>
      steps;                     // of each its dispatches in order, the plan's barriers among theirs
  std::vector<uint32_t> counts;  // overlap.h; empty: nothing waits inside its program
};
Result<Lowered> lower_plan(const Target& target);

}  // namespace brass::vulkan
