// IQ4_XS: 256 values in 8 groups of 32, each with a 6-bit scale under one f16, and 4-bit indices into 16
// non-uniform levels: value = (d · (scale − 32)) · level[index]. 4.25 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ4_XS {
  uint16_t d;           // f16, scale of the scales
  uint16_t scales_h;    // bits 4–5 of scale g: bits 2g, 2g + 1
  uint8_t scales_l[4];  // bits 0–3 of scale g: nibble g % 2 of byte g / 2
  uint8_t qs[128];      // 16 bytes a group, indices into kIq4Values; low nibble: value j, high: j + 16
};
static_assert(sizeof(BlockIQ4_XS) == 136);

}  // namespace brass
