// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint seven = u32(66 + 4 * (i / 32)) >> (7 * (i % 32 / 8)) & 127;
  return signed_code(grid4(u8(2 + i / 4), i % 4), sign_of_seven(seven, i % 8));
}
float block_scale(uint i) { return half_at(0) * (0.5 + float(u32(66 + 4 * (i / 32)) >> 28)) * 0.5; }
#include "unit_by_value.glsl"
