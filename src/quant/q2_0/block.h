// Q2_0: 64 two-bit codes, one f16 scale: value = d · (code − 1). 2.25 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ2_0 {
  uint16_t d;      // f16
  uint8_t qs[16];  // code of value 4k + i: bits 2i, 2i + 1 of byte k
};
static_assert(sizeof(BlockQ2_0) == 18);

}  // namespace brass
