// A plan's steps as dispatches: steps of few rows by their own programs, the rest operation by operation.
//
// Owns: the choice between the two. Must not know: queues, how commands are recorded.
#pragma once

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

// [step] its dispatches in order.
Result<std::vector<std::vector<Dispatch>>> lower_plan(const Target& target);

}  // namespace brass::vulkan
