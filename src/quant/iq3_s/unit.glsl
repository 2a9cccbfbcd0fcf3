// 32 values as int8 codes for products (unit_types.glsl says of what form): a group of the block.
#include "book.glsl"
struct Raw {
  uvec2 q;  // low bytes of the eight indices
  uint minus, d, high, scale;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint g = u % 8;
  block_at = Bytes(row + u / 8 * kBlockBytes);
  return Raw(two_words_of_halves(2 + 8 * g), u32_of_halves(74 + 4 * g), u16_of_half(0), u8(66 + g), u8(106 + g / 2));
}
Unit decode_unit(Raw r, uint u) {
  const uint h = r.high;
  const uvec4 first = bytes_of_word(r.q.x) | (uvec4(h << 8, h << 7, h << 6, h << 5) & 256u);
  const uvec4 second = bytes_of_word(r.q.y) | (uvec4(h << 4, h << 3, h << 2, h << 1) & 256u);
  const float scale = unpackHalf2x16(r.d).x * float(1 + 2 * (r.scale >> u % 2 * 4 & 15));
  return Unit(with_signs(book_words(first), r.minus), with_signs(book_words(second), r.minus >> 16), vec2(scale), vec2(0.0));
}
#define NO_LOWS
