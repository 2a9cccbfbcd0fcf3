// The code book of IQ2_S: 1,024 vectors of 8 magnitudes in {8, 25, 43}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

// 2 bits a value, least significant first: index into {8, 25, 43}.
extern const uint16_t kIq2SGridPacked[1024];
// Value j of an entry is byte j: a magnitude; signs come from the block.
extern const Grid<uint64_t, 1024> kIq2SGrid;

}  // namespace brass
