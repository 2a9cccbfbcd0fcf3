// 32 values as int8 codes for products (unit_types.glsl says of what form): a group, low nibbles before high ones.
#include "bit_books.glsl"

struct Raw {
  uvec2 head;
  uvec4 q;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  Pairs block = Pairs(row + u / 8 * kBlockBytes);
  return Raw(block.v[0], uvec4(block.v[1 + 2 * (u % 8)], block.v[2 + 2 * (u % 8)]));
}
Unit decode_unit(Raw r, uint u) {
  const uint group = u % 8;
  const uint scale = (r.head.y >> (4 * group) & 15) | (r.head.x >> (16 + 2 * group) & 3) << 4;
  Unit unit;
  iq4_codes(r.q, unit.first, unit.second);
  unit.scale = vec2(unpackHalf2x16(r.head.x).x * (float(scale) - 32.0));
  unit.low = vec2(0.0);
  return unit;
}
#define NO_LOWS
