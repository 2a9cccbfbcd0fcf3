// IQ2_S: 256 values in 16 groups of 16, each two 10-bit grid indices, 16 sign bits and a 4-bit scale:
// value = (d · (scale + ½) · ¼) · ±grid. 2.5625 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ2_S {
  uint16_t d;         // f16, scale of the scales
  uint8_t qs[32];     // bits 0–7 of the index into kIq2SGrid (grid.h) of values 8k … 8k + 7
  uint8_t signs[32];  // bit j of byte k: value 8k + j is negative
  uint8_t qh[8];      // bits 8–9 of index k: bit pair k % 4 of byte k / 4
  uint8_t scales[8];  // scale of group g: nibble g % 2 of byte g / 2
};
static_assert(sizeof(BlockIQ2_S) == 82);

}  // namespace brass
