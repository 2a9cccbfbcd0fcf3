// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint l = i % 16, q = u8(4 + 8 * (i / 16) + (l & 7));
  return kE2m1Doubled[l < 8 ? q & 15 : q >> 4];
}
float block_scale(uint i) {
  const uint code = u8(i / 16) & 127;
  return code == 127 ? 0.0 : unpackHalf2x16(code << 7).x * 128.0;
}
#include "unit_by_value.glsl"
