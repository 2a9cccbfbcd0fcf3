// Q4_0: 32 values, one f16 scale: value = d · (code − 8). 4.5 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ4_0 {
  uint16_t d;      // f16; its sign carries information (encoders put the largest magnitude at code 0, −8 · d)
  uint8_t qs[16];  // low nibble: value j, high nibble: value j + 16
};
static_assert(sizeof(BlockQ4_0) == 18);

}  // namespace brass
