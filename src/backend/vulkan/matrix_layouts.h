// How the tiles of known matrix units lie in the lanes of a subgroup, for devices that are compiled for without being there.
//
// Owns: the formulas, by generation. Must not know: programs. Invariants: a device that is there is probed, never looked up.
#pragma once

#include <string_view>
#include <vector>

#include "backend/vulkan/device.h"

namespace brass::vulkan {

// What matrix_probe.comp would write: how many values of an A tile a lane holds, of each its row · depth + column; then the
// same of a C tile, row · columns + column. "gfx11", "gfx12" (AMD's RDNA3 and RDNA4 instruction set manuals, WMMA); errors
// name those that are known, and what a layout is not for.
Result<std::vector<float>> matrix_layout(std::string_view name, MatrixTile tile, uint32_t lanes);

}  // namespace brass::vulkan
