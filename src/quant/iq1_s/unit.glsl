// 32 values as int8 codes for products (unit_types.glsl says of what form): a group of the block.
#include "book.glsl"
struct Raw {
  uint q, high, d;  // low bytes of four indices; three bits more of each, scale, the shift's sign
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint g = u % 8;
  block_at = Bytes(row + u / 8 * kBlockBytes);
  return Raw(u32_of_halves(2 + 4 * g), u16_of_half(34 + 2 * g), u16_of_half(0));
}
Unit decode_unit(Raw r, uint u) {
  const uint h = r.high;
  const uvec4 index = bytes_of_word(r.q) | (uvec4(h << 8, h << 5, h << 2, h >> 1) & 0x700u);
  const uvec4 first = book_pairs(index.xy), second = book_pairs(index.zw);
  const bool down = (h & 0x8000) != 0;
  const float scale = unpackHalf2x16(r.d).x * float(2 * (h >> 12 & 7) + 1) * 0.125;
  return Unit(uvec4(shifted_up_or_down(first.xy, down), shifted_up_or_down(first.zw, down)),
              uvec4(shifted_up_or_down(second.xy, down), shifted_up_or_down(second.zw, down)), vec2(scale), vec2(0.0));
}
#define NO_LOWS
