// IQ2_XS: 256 values in 16 groups of 16, each two 9-bit grid indices, two 7-bit sign indices, a 4-bit scale:
// value = (d · (scale + ½) · ¼) · ±grid. 2.3125 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ2_XS {
  uint16_t d;         // f16, scale of the scales
  uint16_t qs[32];    // bits 0–8: index into kIq2XsGrid (grid.h) of 8 values; bits 9–15: into kEvenSigns
  uint8_t scales[8];  // scale of group g: nibble g % 2 of byte g / 2
};
static_assert(sizeof(BlockIQ2_XS) == 74);

}  // namespace brass
