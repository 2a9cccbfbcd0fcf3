// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint q = u8(1 + (i & 15));
  return kE2m1Doubled[i < 16 ? q & 15 : q >> 4];
}
float block_scale(uint i) {
  const uint e = u8(0);
  return uintBitsToFloat(e < 2 ? 0x00200000u << e : (e - 1) << 23);
}
#include "unit_by_value.glsl"
