// 32 values as int8 codes for products (unit_types.glsl says of what form): a block, low nibbles before high ones.
struct Raw {
  uint both;
  uvec4 q;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  Words block = Words(row + u * kBlockBytes);
  return Raw(block.v[0], four_words(block, 1));
}
Unit decode_unit(Raw r, uint u) {
  const vec2 d = unpackHalf2x16(r.both);
  return Unit(r.q & 0x0f0f0f0fu, r.q >> 4 & 0x0f0f0f0fu, vec2(d.x), vec2(-d.y));
}
