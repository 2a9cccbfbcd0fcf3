// Q8_0: 32 values, one f16 scale: value = d · code. 8.5 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ8_0 {
  uint16_t d;  // f16
  int8_t qs[32];
};
static_assert(sizeof(BlockQ8_0) == 34);

}  // namespace brass
