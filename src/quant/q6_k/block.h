// Q6_K: 256 values in 16 groups of 16, each with an int8 scale under one f16:
// value = (d · scale) · (code − 32). 6.5625 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockQ6_K {
  // Values go by halves of 128 and, in a half, by quarters of 32: value 128 h + 32 k + j has
  uint8_t ql[128];    // bits 0–3 in ql[64 h + 32 (k & 1) + j], low nibble for k < 2, high nibble for k ≥ 2
  uint8_t qh[64];     // bits 4–5 in bits 2k, 2k + 1 of qh[32 h + j]
  int8_t scales[16];  // of values 16 g … 16 g + 15
  uint16_t d;         // f16, scale of the scales
};
static_assert(sizeof(BlockQ6_K) == 210);

}  // namespace brass
