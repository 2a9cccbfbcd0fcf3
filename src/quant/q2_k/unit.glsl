// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
#define HAS_LOWS
int block_code(uint i) { return int(u8(16 + 32 * (i / 128) + i % 32) >> (2 * (i % 128 / 32)) & 3); }
float block_scale(uint i) { return half_at(80) * float(u8(i / 16) & 15); }
float block_low(uint i) { return half_at(82) * float(u8(i / 16) >> 4); }
#include "unit_by_value.glsl"
