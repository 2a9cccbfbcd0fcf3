// Codes of IQ1_S and IQ1_M: a grid value g in {−1, 0, 1} shifted by ±⅛ is 8 · (g ± ⅛) = 8g ± 1 as an integer,
// with an eighth of the scale. The product is the same real number, so it rounds to the same f32.
#pragma once

#include <cstdint>

#include "quant/common/iq1_grid.h"

namespace brass {

// Eight codes from one grid entry. `shift`: 1 or −1.
inline void iq1_codes(int8_t* __restrict codes, int index, int shift) {
  const uint64_t entry = kIq1Grid.entry[index];
  for (int j = 0; j < 8; ++j)
    codes[j] = static_cast<int8_t>(8 * static_cast<int8_t>(entry >> (8 * j)) + shift);
}

}  // namespace brass
