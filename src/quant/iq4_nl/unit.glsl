// 32 values as int8 codes for products (unit_types.glsl says of what form): a block, low nibbles before high ones.
#include "bit_books.glsl"

struct Raw {
  bool middle;
  Five words;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u * kBlockBytes;
  return Raw(begins_in_middle(at), five_words(words_around(at), 0));
}
Unit decode_unit(Raw r, uint u) {
  Unit unit;
  iq4_codes(r.middle ? last_four(r.words) : joined(true, r.words), unit.first, unit.second);
  unit.scale = vec2(half_of(r.middle, r.words.first.x));
  unit.low = vec2(0.0);
  return unit;
}
#define NO_LOWS
