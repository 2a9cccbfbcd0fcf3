// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) { return int(u8(32 * (i / 128) + i % 32) >> (2 * (i % 128 / 32)) & 3) - 1; }
float block_scale(uint i) { return half_at(64); }
#include "unit_by_value.glsl"
