// 32 values as int8 codes for products (unit_types.glsl says of what form): two times 16 of the block.
#include "book.glsl"
struct Raw {
  uvec2 q;  // four times nine bits of index, seven of signs
  uint scales, d;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint g = u % 8;
  block_at = Bytes(row + u / 8 * kBlockBytes);
  return Raw(two_words_of_halves(2 + 8 * g), u8(66 + g), u16_of_half(0));
}
Unit decode_unit(Raw r, uint u) {
  const uvec2 sevens = (r.q >> 9 & 127u) | (r.q >> 25 << 8);
  const uint minus = signs_of_sevens(sevens.x | sevens.y << 16);
  const uvec2 low = r.q & 511u, high = r.q >> 16 & 511u;
  const vec2 scale = unpackHalf2x16(r.d).x * (0.5 + vec2(r.scales & 15, r.scales >> 4)) * 0.25;
  return Unit(with_signs(book_pairs(uvec2(low.x, high.x)), minus), with_signs(book_pairs(uvec2(low.y, high.y)), minus >> 16),
              scale, vec2(0.0));
}
#define NO_LOWS
