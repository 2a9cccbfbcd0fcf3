// 32 values as int8 codes for products (unit_types.glsl says of what form): half a block. Of each sixteen, eight low
// nibbles before the high ones of the same bytes.
#include "bit_books.glsl"

struct Raw {
  uint scales;
  uvec4 q;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  Words w = Words(row + u / 2 * kBlockBytes);
  return Raw(w.v[0], four_words(w, 1 + u % 2 * 4));
}
Unit decode_unit(Raw r, uint u) {
  const uint scales = r.scales >> (u % 2 * 16);
  uvec4 low, high;
  e2m1_codes(r.q, low, high);
  return Unit(uvec4(low.xy, high.xy), uvec4(low.zw, high.zw),
              vec2(scale_of_code(scales & 127), scale_of_code(scales >> 8 & 127)), vec2(0.0));
}
#define NO_LOWS
