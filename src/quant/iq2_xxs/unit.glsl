// 32 values as int8 codes for products (unit_types.glsl says of what form): a group of the block.
#include "book.glsl"
struct Raw {
  uint q;  // four indices
  uint signs_and_scale, d;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint at = 2 + u % 8 * 8;
  block_at = Bytes(row + u / 8 * kBlockBytes);
  return Raw(u32_of_halves(at), u32_of_halves(at + 4), u16_of_half(0));
}
Unit decode_unit(Raw r, uint u) {
  const uint minus = signs_of_sevens(sevens_of(r.signs_and_scale));
  const uvec4 index = bytes_of_word(r.q);
  const float scale = unpackHalf2x16(r.d).x * (0.5 + float(r.signs_and_scale >> 28)) * 0.25;
  return Unit(with_signs(book_pairs(index.xy), minus), with_signs(book_pairs(index.zw), minus >> 16), vec2(scale), vec2(0.0));
}
#define NO_LOWS
