// Eight bits or eight bytes at a time, in one 64-bit word.
#pragma once

#include <cstdint>
#include <cstring>

namespace brass {

// Bit j of `bits` becomes byte j, 0 or 1.
inline uint64_t spread_bits(uint8_t bits) {
  const uint64_t one_bit_each = (bits * 0x0101010101010101u) & 0x8040201008040201u;
  return ((one_bit_each + 0x7f7f7f7f7f7f7f7fu) >> 7) & 0x0101010101010101u;
}

// Negates byte j of `bytes` (each 1 … 127) where bit j of `signs` is set.
inline uint64_t apply_signs(uint64_t bytes, uint8_t signs) {
  const uint64_t ones = spread_bits(signs);
  return (bytes ^ (ones * 0xff)) + ones;  // two's complement; no byte carries, as ~byte is at most 0xfe
}

inline void store8(void* to, uint64_t bytes) { std::memcpy(to, &bytes, 8); }

}  // namespace brass
