// 32 values as int8 codes for products (unit_types.glsl says of what form): half a block, four values a byte.
struct Raw {
  bool middle;
  uint d;
  uvec3 words;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 2 * kBlockBytes;
  Words w = words_around(at);
  const uint q = u % 2 * 2;
  return Raw(begins_in_middle(at), w.v[0], uvec3(w.v[q], w.v[q + 1], w.v[q + 2]));
}
// A byte's four pairs of bits, each to a byte.
uvec4 four_bytes(uint word) { return ((bytes_of_word(word) * 0x1001u & 0x000f000fu) * 0x41u) & 0x03030303u; }
Unit decode_unit(Raw r, uint u) {
  const uvec2 q = r.middle ? r.words.yz : r.words.xy >> 16 | r.words.yz << 16;
  return Unit(less_one(four_bytes(q.x)), less_one(four_bytes(q.y)), vec2(half_of(r.middle, r.d)), vec2(0.0));
}
#define NO_LOWS
