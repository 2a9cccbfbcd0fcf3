// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint high = u16(34 + 2 * (i / 32)), index = u8(2 + i / 8) | (high >> (3 * (i % 32 / 8)) & 7) << 8;
  return 8 * grid8(index, i % 8) + ((high & 0x8000) != 0 ? -1 : 1);
}
float block_scale(uint i) { return half_at(0) * float(2 * (u16(34 + 2 * (i / 32)) >> 12 & 7) + 1) * 0.125; }
#include "unit_by_value.glsl"
