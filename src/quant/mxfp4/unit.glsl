// 32 values as int8 codes for products (unit_types.glsl says of what form): a block, low nibbles before high ones. Blocks
// of 17 bytes begin anywhere in a word, and always lie in five of them.
#include "bit_books.glsl"

struct Raw {
  uint shift;
  uvec4 words;
  uint last;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u * kBlockBytes;
  Words w = words_around(at);
  return Raw((uint(at) & 3) * 8, uvec4(w.v[0], w.v[1], w.v[2], w.v[3]), w.v[4]);
}
Unit decode_unit(Raw r, uint u) {
  const uint e = r.words.x >> r.shift & 255;
  Unit unit;
  e2m1_codes((r.words >> 8 >> r.shift) | uvec4(r.words.yzw, r.last) << (24 - r.shift), unit.first, unit.second);
  unit.scale = vec2(uintBitsToFloat(e < 2 ? 0x00200000u << e : (e - 1) << 23));
  unit.low = vec2(0.0);
  return unit;
}
#define NO_LOWS
