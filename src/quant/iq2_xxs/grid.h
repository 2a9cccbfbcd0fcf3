// The code book of IQ2_XXS: 256 vectors of 8 magnitudes in {8, 25, 43}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

extern const uint16_t
    kIq2XxsGridPacked[256];  // 2 bits a value, least significant first: index into {8, 25, 43}
extern const Grid<uint64_t, 256> kIq2XxsGrid;  // bytes are magnitudes; signs come from the block

}  // namespace brass
