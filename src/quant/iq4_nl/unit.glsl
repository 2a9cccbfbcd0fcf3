// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint q = u8(2 + (i & 15));
  return kIq4Levels[i < 16 ? q & 15 : q >> 4];
}
float block_scale(uint i) { return half_at(0); }
#include "unit_by_value.glsl"
