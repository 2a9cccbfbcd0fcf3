// 32 values as int8 codes for products (unit_types.glsl says of what form): 16 low nibbles and the high ones of the same bytes.
#include "k_scales.glsl"
struct Raw {
  uvec4 head, q;
};
const uint kApart = 2;
Raw load_unit(uint64_t row, uint u) {
  Quads block = Quads(row + u / 8 * kBlockBytes);
  return Raw(block.v[0], block.v[1 + u % 8]);
}
Unit decode_unit(Raw r, uint u) {
  const bool upper = u % 8 >= 4;
  const uint shift = u / 2 % 2 * 16;
  K_SCALES(r.head, upper, shift)
  return Unit(r.q & 0x0f0f0f0fu, r.q >> 4 & 0x0f0f0f0fu, d.x * vec2(scales & 255, scales >> 8 & 255),
              d.y * vec2(lows & 255, lows >> 8 & 255));
}
