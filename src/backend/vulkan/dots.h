// Products of many rows by packed dot products, for devices without a matrix unit: rows of x become int8 codes in scratch
// memory (to_int8.comp), and W is decoded into shared memory a tile at a time (dots.comp).
//
// Owns: their dispatches and the memory that they need. Must not know: matrix units. Invariants: as of prompt.h, for formats
// that have a unit.glsl; what x loses is what it loses in steps of few rows.
#pragma once

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

// Whether a device computes with them, whose unit is this.
bool uses_dots(const VulkanInfo& info, const MatrixUnit& unit, Prompts prompts);
// What the product takes, of t rows; nothing where it is none for them.
PromptMemory dots_bytes(const Plan& plan, const Op& product, uint64_t t);
// The operation's dispatches; nothing where it is one for other programs.
Result<std::optional<std::vector<Dispatch>>> lower_dots(const Target& target, const Op& op);

}  // namespace brass::vulkan
