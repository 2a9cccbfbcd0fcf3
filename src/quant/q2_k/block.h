// Q2_K: 256 values in 16 groups of 16, each with a 4-bit scale and a 4-bit min under one f16 pair:
// value = (d · scale) · code − (dmin · min). 2.625 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ2_K {
  uint8_t scales[16];  // low nibble: scale, high nibble: min of values 16 g … 16 g + 15
  uint8_t qs[64];      // code of value 128 h + 32 k + j: bits 2k, 2k + 1 of qs[32 h + j]
  uint16_t d;          // f16, scale of the scales
  uint16_t dmin;       // f16, scale of the mins
};
static_assert(sizeof(BlockQ2_K) == 84);

}  // namespace brass
