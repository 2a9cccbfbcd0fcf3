// Steps of few rows: products of int8 activations, attention by splits of whole pages, joined operations.
//
// Owns: which programs compute these steps, their constants and grids. Must not know: queues, memory management.
// Invariants: the bits of a row do not depend on how many rows there are, nor on whether operations are joined, but for
// norms whose factor is multiplied behind products (kFoldNorm, kNormLinear in plan/rules.h).
#pragma once

#include <optional>

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

// Nothing: the step's operations are none of these, one of its own and to be lowered as such.
Result<std::optional<std::vector<Dispatch>>> lower_decode(const Target& target, const Step& step);
// Bytes that attention of few rows, and who finds candidates, leaves between its programs: the most of any operation of the
// plan.
uint64_t partial_bytes(const Plan& plan, uint32_t pages, uint32_t lanes);

}  // namespace brass::vulkan
