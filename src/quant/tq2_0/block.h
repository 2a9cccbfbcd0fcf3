// TQ2_0: 256 ternary values, one f16 scale: value = d · (code − 1). 2.0625 bits a value.
// Encoders write codes 0 … 2; a code 3 decodes as 2 d.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockTQ2_0 {
  uint8_t qs[64];  // code of value 128 h + 32 k + j: bits 2k, 2k + 1 of qs[32 h + j]
  uint16_t d;      // f16
};
static_assert(sizeof(BlockTQ2_0) == 66);

}  // namespace brass
