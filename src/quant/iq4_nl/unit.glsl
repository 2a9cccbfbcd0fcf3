// 32 values as int8 codes for products (unit_types.glsl says of what form): a block, low nibbles before high ones.
#include "bit_books.glsl"

struct Raw {
  bool middle;
  uvec4 words;
  uint last;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u * kBlockBytes;
  Words w = words_around(at);
  return Raw(begins_in_middle(at), uvec4(w.v[0], w.v[1], w.v[2], w.v[3]), w.v[4]);
}
Unit decode_unit(Raw r, uint u) {
  Unit unit;
  iq4_codes(r.middle ? uvec4(r.words.yzw, r.last) : joined(true, r.words, r.last), unit.first, unit.second);
  unit.scale = vec2(half_of(r.middle, r.words.x));
  unit.low = vec2(0.0);
  return unit;
}
#define NO_LOWS
