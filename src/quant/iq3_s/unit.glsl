// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint index = u8(2 + i / 4) | (u8(66 + i / 32) >> (i % 32 / 4) & 1) << 8;
  return signed_code(grid4(index, i % 4), u8(74 + i / 8) >> (i % 8) & 1);
}
float block_scale(uint i) { return half_at(0) * float(1 + 2 * (u8(106 + i / 64) >> (4 * (i / 32 % 2)) & 15)); }
#include "unit_by_value.glsl"
