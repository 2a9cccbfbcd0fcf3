// 32 values as int8 codes for products (unit_types.glsl says of what form): 16 of one pair of bits and 16 of the next of
// the same bytes.
struct Raw {
  bool middle;
  Five q;
  uint d;
};
const uint kApart = 2;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 8 * kBlockBytes;
  Words w = words_around(at);
  return Raw(begins_in_middle(at), five_words(w, u % 8 / 4 * 8 + 4 * (u % 2)), w.v[16]);
}
Unit decode_unit(Raw r, uint u) {
  const uvec4 q = joined(r.middle, r.q) >> (4 * (u / 2 % 2));
  return Unit(less_one(q & 0x03030303u), less_one(q >> 2 & 0x03030303u), vec2(half_of(r.middle, r.d)), vec2(0.0));
}
#define NO_LOWS
