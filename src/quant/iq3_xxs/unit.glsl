// 32 values as int8 codes for products (unit_types.glsl says of what form): a group of the block.
#include "book.glsl"
struct Raw {
  uvec2 q;  // eight indices
  uint signs_and_scale, d;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint g = u % 8;
  block_at = Bytes(row + u / 8 * kBlockBytes);
  return Raw(two_words_of_halves(2 + 8 * g), u32_of_halves(66 + 4 * g), u16_of_half(0));
}
Unit decode_unit(Raw r, uint u) {
  const uint minus = signs_of_sevens(sevens_of(r.signs_and_scale));
  const float scale = unpackHalf2x16(r.d).x * (0.5 + float(r.signs_and_scale >> 28)) * 0.5;
  return Unit(with_signs(book_words(bytes_of_word(r.q.x)), minus), with_signs(book_words(bytes_of_word(r.q.y)), minus >> 16),
              vec2(scale), vec2(0.0));
}
#define NO_LOWS
