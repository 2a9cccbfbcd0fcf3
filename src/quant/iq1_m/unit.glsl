// 32 values as int8 codes for products (unit_types.glsl says of what form): two times 16 of the block.
#include "book.glsl"
struct Raw {
  uint q, high;  // low bytes of four indices; of each a nibble: three bits more, and the shift's sign
  uvec2 scales;  // of the block: four times four of three bits, and a quarter of its f16
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 8 * kBlockBytes;
  const uint g = u % 8;
  return Raw(Words(at).v[g], uint(Shorts(at).v[16 + g]), Pairs(at).v[6]);
}
Unit decode_unit(Raw r, uint u) {
  const uint h = r.high;
  const uvec4 index = bytes_of_word(r.q) | (uvec4(h << 8, h << 4, h, h >> 4) & 0x700u);
  const uvec4 first = book_pairs(index.xy), second = book_pairs(index.zw);
  const uvec2 tops = r.scales >> 12 & 0x000f000fu;
  const uvec2 quarters = (tops | tops >> 12) & 255u;
  const uint scales = (u % 8 < 4 ? r.scales.x : r.scales.y) >> (u / 2 % 2 * 16 + u % 2 * 6);
  const vec2 scale =
      unpackHalf2x16(quarters.x | quarters.y << 8).x * vec2(2 * (scales & 7) + 1, 2 * (scales >> 3 & 7) + 1) * 0.125;
  return Unit(uvec4(shifted_up_or_down(first.xy, (h & 8) != 0), shifted_up_or_down(first.zw, (h & 0x80) != 0)),
              uvec4(shifted_up_or_down(second.xy, (h & 0x800) != 0), shifted_up_or_down(second.zw, (h & 0x8000) != 0)), scale,
              vec2(0.0));
}
#define NO_LOWS
