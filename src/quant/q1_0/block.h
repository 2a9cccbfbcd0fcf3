// Q1_0: 128 signs, one f16 scale: value = ±d. 1.125 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ1_0 {
  uint16_t d;      // f16
  uint8_t qs[16];  // bit j of byte k: value 8k + j is +d where set, −d where clear
};
static_assert(sizeof(BlockQ1_0) == 18);

}  // namespace brass
