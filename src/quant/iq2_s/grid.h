// The code book of IQ2_S: 1,024 vectors of 8 magnitudes in {8, 25, 43}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

extern const uint16_t
    kIq2SGridPacked[1024];  // 2 bits a value, least significant first: index into {8, 25, 43}
extern const Grid<uint64_t, 1024> kIq2SGrid;  // bytes are magnitudes; signs come from the block

}  // namespace brass
