// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint group = i / 32, seven = u32(6 + 8 * group) >> (7 * (i % 32 / 8)) & 127;
  return signed_code(grid8(u8(2 + 8 * group + i % 32 / 8), i % 8), sign_of_seven(seven, i % 8));
}
float block_scale(uint i) { return half_at(0) * (0.5 + float(u32(6 + 8 * (i / 32)) >> 28)) * 0.25; }
#include "unit_by_value.glsl"
