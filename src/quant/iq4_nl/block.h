// IQ4_NL: 32 values, one f16 scale, 4-bit indices into 16 non-uniform levels:
// value = d · level[index]. 4.5 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ4_NL {
  uint16_t d;      // f16
  uint8_t qs[16];  // indices into kIq4Values (common/iq4_values.h); low nibble: value j, high: j + 16
};
static_assert(sizeof(BlockIQ4_NL) == 18);

}  // namespace brass
