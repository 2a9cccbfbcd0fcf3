// MXFP4 (OCP MX specification 1.0): 32 E2M1 values under one E8M0 scale: value = 2^(e − 127) · e2m1.
// 4.25 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockMXFP4 {
  uint8_t e;       // E8M0; 255 is NaN
  uint8_t qs[16];  // E2M1 (common/fp4.h); low nibble: value j, high nibble: value j + 16
};
static_assert(sizeof(BlockMXFP4) == 17);

}  // namespace brass
