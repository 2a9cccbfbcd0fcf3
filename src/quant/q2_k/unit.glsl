// 32 values as int8 codes for products (unit_types.glsl says of what form): 16 of one pair of bits and 16 of the next of
// the same bytes.
struct Raw {
  uvec4 q;
  uint scales, d;
};
const uint kApart = 2;
Raw load_unit(uint64_t row, uint u) {
  Words w = Words(row + u / 8 * kBlockBytes);
  return Raw(four_words(w, 4 + u % 8 / 4 * 8 + 4 * (u % 2)), w.v[u % 8 / 2], w.v[20]);
}
Unit decode_unit(Raw r, uint u) {
  const uvec4 q = r.q >> (4 * (u / 2 % 2));
  const uint scales = r.scales >> (8 * (u % 2));  // bytes 0 and 2
  const vec2 d = unpackHalf2x16(r.d);
  return Unit(q & 0x03030303u, q >> 2 & 0x03030303u, d.x * vec2(scales & 15, scales >> 16 & 15),
              d.y * vec2(scales >> 4 & 15, scales >> 20 & 15));
}
