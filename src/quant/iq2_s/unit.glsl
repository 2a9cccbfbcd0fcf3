// 32 values as int8 codes for products (unit_types.glsl says of what form): two times 16 of the block.
#include "book.glsl"
struct Raw {
  uint q;  // low bytes of the four indices
  uint minus, d, high, scales;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint g = u % 8;
  block_at = Bytes(row + u / 8 * kBlockBytes);
  return Raw(u32_of_halves(2 + 4 * g), u32_of_halves(34 + 4 * g), u16_of_half(0), u8(66 + g), u8(74 + g));
}
Unit decode_unit(Raw r, uint u) {
  const uint h = r.high;
  const uvec4 index = bytes_of_word(r.q) | (uvec4(h << 8, h << 6, h << 4, h << 2) & 0x300u);
  const vec2 scale = unpackHalf2x16(r.d).x * (0.5 + vec2(r.scales & 15, r.scales >> 4)) * 0.25;
  return Unit(with_signs(book_pairs(index.xy), r.minus), with_signs(book_pairs(index.zw), r.minus >> 16), scale, vec2(0.0));
}
#define NO_LOWS
