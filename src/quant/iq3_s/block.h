// IQ3_S: 256 values in 8 groups of 32, each eight 9-bit grid indices, 32 sign bits and a 4-bit scale:
// value = (d · (2 · scale + 1)) · ±grid. 3.4375 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ3_S {
  uint16_t d;         // f16, scale of the scales
  uint8_t qs[64];     // bits 0–7 of the index into kIq3SGrid (grid.h) of values 4k … 4k + 3
  uint8_t qh[8];      // bit 8 of index k: bit k % 8 of byte k / 8
  uint8_t signs[32];  // bit j of byte k: value 8k + j is negative
  uint8_t scales[4];  // scale of group g: nibble g % 2 of byte g / 2
};
static_assert(sizeof(BlockIQ3_S) == 110);

}  // namespace brass
