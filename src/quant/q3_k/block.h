// Q3_K: 256 values in 16 groups of 16, each with a 6-bit scale under one f16:
// value = (d · (scale − 32)) · (code − 4). 3.4375 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ3_K {
  uint8_t hmask[32];   // bit 2 of the code of value 128 h + 32 k + j: bit 4h + k of hmask[j]
  uint8_t qs[64];      // bits 0–1 of it: bits 2k, 2k + 1 of qs[32 h + j]
  uint8_t scales[12];  // bits 0–3 of scale g: nibble g / 8 of byte g % 8; bits 4–5: bit pair g / 4 of
                       // byte 8 + g % 4
  uint16_t d;          // f16, scale of the scales
};
static_assert(sizeof(BlockQ3_K) == 110);

}  // namespace brass
