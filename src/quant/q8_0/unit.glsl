// 32 values as int8 codes for products (unit_types.glsl says of what form): a block.
struct Raw {
  uint d;
  uvec4 first, second;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  Words block = Words(row + u * kBlockBytes);
  return Raw(block.v[0], four_words(block, 1), four_words(block, 5));
}
Unit decode_unit(Raw r, uint u) {
  return Unit(r.first, r.second, vec2(unpackHalf2x16(r.d).x), vec2(0.0));
}
#define NO_LOWS
