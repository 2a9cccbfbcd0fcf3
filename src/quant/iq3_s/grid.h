// The code book of IQ3_S: 512 vectors of 4 magnitudes in {1, 3, 5, … 15}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

// 4 bits a value, least significant first: index into {1, 3, 5, 7, 9, 11, 13, 15}.
extern const uint16_t kIq3SGridPacked[512];
// Value j of an entry is byte j: a magnitude; signs come from the block.
extern const Grid<uint32_t, 512> kIq3SGrid;
extern const GridPlanes<512> kIq3SPlanes;

}  // namespace brass
