// Q5_0: 32 values, one f16 scale: value = d · (code − 16). 5.5 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ5_0 {
  uint16_t d;      // f16
  uint8_t qh[4];   // little-endian word: bit j is bit 4 of code j
  uint8_t qs[16];  // bits 0–3; low nibble: code j, high nibble: code j + 16
};
static_assert(sizeof(BlockQ5_0) == 22);

}  // namespace brass
