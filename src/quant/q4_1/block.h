// Q4_1: 32 values, an f16 scale and an f16 offset: value = d · code + m. 5 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ4_1 {
  uint16_t d;      // f16
  uint16_t m;      // f16, added: usually negative (the canonical view's min is −m)
  uint8_t qs[16];  // low nibble: value j, high nibble: value j + 16
};
static_assert(sizeof(BlockQ4_1) == 20);

}  // namespace brass
