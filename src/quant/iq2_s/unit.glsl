// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint k = i / 8, index = u8(2 + k) | (u8(66 + k / 4) >> (2 * (k % 4)) & 3) << 8;
  return signed_code(grid8(index, i % 8), u8(34 + k) >> (i % 8) & 1);
}
float block_scale(uint i) { return half_at(0) * (0.5 + float(u8(74 + i / 32) >> (4 * (i / 16 % 2)) & 15)) * 0.25; }
#include "unit_by_value.glsl"
