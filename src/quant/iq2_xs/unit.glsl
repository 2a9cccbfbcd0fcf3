// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint both = u16(2 + 2 * (i / 8));
  return signed_code(grid8(both & 511, i % 8), sign_of_seven(both >> 9, i % 8));
}
float block_scale(uint i) { return half_at(0) * (0.5 + float(u8(66 + i / 32) >> (4 * (i / 16 % 2)) & 15)) * 0.25; }
#include "unit_by_value.glsl"
