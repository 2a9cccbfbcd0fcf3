// Q5_K: Q4_K with a fifth bit: 256 values in 8 groups of 32, each with a 6-bit scale and a 6-bit min under
// one f16 pair: value = (d · scale) · code − (dmin · min). 5.5 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ5_K {
  uint16_t d;          // f16, scale of the scales
  uint16_t dmin;       // f16, scale of the mins
  uint8_t scales[12];  // common/k_scales.h
  uint8_t qh[32];      // bit g of byte j: bit 4 of code 32 g + j
  uint8_t qs[128];     // 32 bytes for each pair of groups: low nibbles group 2p, high nibbles group 2p + 1
};
static_assert(sizeof(BlockQ5_K) == 176);

}  // namespace brass
