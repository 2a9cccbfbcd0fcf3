// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint k = i / 8, high = u8(32 + k / 2) >> (4 * (k % 2)) & 15;
  return 8 * grid8(u8(k) | (high & 7) << 8, i % 8) + ((high & 8) != 0 ? -1 : 1);
}
float block_scale(uint i) {
  const uint scales = u16(48 + 2 * (i / 64)) >> (3 * (i / 16 % 4)) & 7;
  const uint d = u16(48) >> 12 | (u16(50) >> 12) << 4 | (u16(52) >> 12) << 8 | (u16(54) >> 12) << 12;
  return unpackHalf2x16(d).x * float(2 * scales + 1) * 0.125;
}
#include "unit_by_value.glsl"
