// Q5_1: 32 values, an f16 scale and an f16 offset: value = d · code + m. 6 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ5_1 {
  uint16_t d;      // f16
  uint16_t m;      // f16, added (the canonical view's min is −m)
  uint8_t qh[4];   // little-endian word: bit j is bit 4 of code j
  uint8_t qs[16];  // bits 0–3; low nibble: code j, high nibble: code j + 16
};
static_assert(sizeof(BlockQ5_1) == 24);

}  // namespace brass
