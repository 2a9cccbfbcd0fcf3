// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) {
  const uint half_block = i / 128, pair = i % 128 / 32, l = i % 32;
  const uint low = u8(32 + 32 * half_block + l) >> (2 * pair) & 3, high = u8(l) >> (4 * half_block + pair) & 1;
  return int(low | high << 2) - 4;
}
float block_scale(uint i) {
  const uint group = i / 16;
  const uint nibble = u8(96 + group % 8) >> (4 * (group / 8)) & 15, two = u8(104 + group % 4) >> (2 * (group / 4)) & 3;
  return half_at(108) * (float(nibble | two << 4) - 32.0);
}
#include "unit_by_value.glsl"
