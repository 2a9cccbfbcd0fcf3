// 32 values as int8 codes for products (unit_types.glsl says of what form): a quarter of a block, eight values a byte.
struct Raw {
  bool middle;
  uint d;
  uvec2 words;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 4 * kBlockBytes;
  Words w = words_around(at);
  return Raw(begins_in_middle(at), w.v[0], uvec2(w.v[u % 4], w.v[u % 4 + 1]));
}
// 1 where a bit is 1, else -1.
uvec4 signs_of(uint bits) { return 0xffffffffu - bytes_of_bits(bits) * 254u; }
Unit decode_unit(Raw r, uint u) {
  const uint bits = r.middle ? r.words.y : joined(true, r.words.x, r.words.y);
  return Unit(signs_of(bits), signs_of(bits >> 16), vec2(half_of(r.middle, r.d)), vec2(0.0));
}
#define NO_LOWS
