// The code book of IQ3_XXS: 256 vectors of 4 magnitudes in {4, 12, 20, 28, 36, 44, 52, 62}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

// 4 bits a value, least significant first: index into {4, 12, 20, 28, 36, 44, 52, 62}.
extern const uint16_t kIq3XxsGridPacked[256];
// Value j of an entry is byte j: a magnitude; signs come from the block.
extern const Grid<uint32_t, 256> kIq3XxsGrid;
extern const GridPlanes<256> kIq3XxsPlanes;

}  // namespace brass
