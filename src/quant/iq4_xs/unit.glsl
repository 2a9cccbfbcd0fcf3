// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint q = u8(8 + 16 * (i / 32) + (i & 15));
  return kIq4Levels[i % 32 < 16 ? q & 15 : q >> 4];
}
float block_scale(uint i) {
  const uint group = i / 32;
  const uint scale = (u8(4 + group / 2) >> (4 * (group % 2)) & 15) | (u16(2) >> (2 * group) & 3) << 4;
  return half_at(0) * (float(scale) - 32.0);
}
#include "unit_by_value.glsl"
