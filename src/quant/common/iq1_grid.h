// The code book of IQ1_S and IQ1_M: 2048 vectors of 8 values in {-1, 0, 1}.
#pragma once

#include "quant/common/grid.h"

namespace brass {

// 2 bits a value, least significant first: index into {-1, 0, 1}.
extern const uint16_t kIq1GridPacked[2048];
// Value j of an entry is byte j: int8: -1, 0 or 1.
extern const Grid<uint64_t, 2048> kIq1Grid;

}  // namespace brass
