// IQ1_S: 256 values in 8 groups of 32, each four 11-bit grid indices, a 3-bit scale and one shift of ±⅛:
// value = (d · (2 · scale + 1)) · (grid ± ⅛). 1.5625 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ1_S {
  uint16_t d;      // f16, scale of the scales
  uint8_t qs[32];  // bits 0–7 of the index into kIq1Grid (common/iq1_grid.h) of values 8k … 8k + 7
  uint16_t qh[8];  // of group g: bits 3k … 3k + 2: bits 8–10 of its index k; bits 12–14: scale; bit 15: the
                   // shift is −⅛
};
static_assert(sizeof(BlockIQ1_S) == 50);

}  // namespace brass
