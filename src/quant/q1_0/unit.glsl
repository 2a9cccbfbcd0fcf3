// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) { return (u8(2 + i / 8) >> (i % 8) & 1) == 1 ? 1 : -1; }
float block_scale(uint i) { return half_at(0); }
#include "unit_by_value.glsl"
