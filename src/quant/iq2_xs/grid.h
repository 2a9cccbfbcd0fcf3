// The code book of IQ2_XS: 512 vectors of 8 magnitudes in {8, 25, 43}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

// 2 bits a value, least significant first: index into {8, 25, 43}.
extern const uint16_t kIq2XsGridPacked[512];
// Value j of an entry is byte j: a magnitude; signs come from the block.
extern const Grid<uint64_t, 512> kIq2XsGrid;

}  // namespace brass
