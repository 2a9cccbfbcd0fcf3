// 32 values as int8 codes for products (unit_types.glsl says of what form): a block, low nibbles before high ones. Blocks
// of 17 bytes begin anywhere in a word, and always lie in five of them.
#include "bit_books.glsl"

struct Raw {
  uint shift;
  Five words;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u * kBlockBytes;
  return Raw((uint(at) & 3) * 8, five_words(words_around(at), 0));
}
Unit decode_unit(Raw r, uint u) {
  Unit unit;
  e2m1_codes((r.words.first >> 8 >> r.shift) | last_four(r.words) << (24 - r.shift), unit.first, unit.second);
  unit.scale = vec2(scale_of_exponent(r.words.first.x >> r.shift & 255));
  unit.low = vec2(0.0);
  return unit;
}
#define NO_LOWS
