// TQ1_0: 256 ternary values, one f16 scale: value = d · (trit − 1). Five trits a byte. 1.6875 bits a value.
//
// A byte holds the base-3 fraction 0.t0 t1 t2 t3 t4 in 256ths, rounded up: trit k is the integer part of
// 3 · frac(byte / 256 · 3^k).
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockTQ1_0 {
  uint8_t qs[48];  // trit k of byte j < 32: value 32 k + j; of byte 32 + j: value 160 + 16 k + j
  uint8_t qh[4];   // four trits a byte: trit k of byte j: value 240 + 4 k + j
  uint16_t d;      // f16
};
static_assert(sizeof(BlockTQ1_0) == 54);

}  // namespace brass
