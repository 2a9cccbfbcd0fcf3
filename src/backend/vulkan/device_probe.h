// What a GPU reaches when nothing but memory, or nothing but arithmetic, is at work.
//
// Owns: the probes. Must not know: plans, weights. Invariants: takes about half a second, and leaves no memory behind.
#pragma once

#include "backend/device.h"
#include "backend/vulkan/prompt.h"

namespace brass::vulkan {

// bandwidth: of reading; f32_ops: of the vector units; int8_ops, by which products of quantized weights over many rows go:
// of the matrix unit where it is in use, of packed dot products where these are.
Result<DeviceProbe> probe_rates(const Context& context, Programs& programs, const PromptUnits& units);

}  // namespace brass::vulkan
