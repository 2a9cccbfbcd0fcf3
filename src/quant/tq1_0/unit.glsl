// What a product in int8 reads of a block, value by value (unit_by_value.glsl): code, scale and, where there is one, low.
int block_code(uint i) { return digit_of(i) - 1; }
float block_scale(uint i) { return half_at(52); }
#include "unit_by_value.glsl"
