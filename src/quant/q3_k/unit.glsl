// 32 values as int8 codes for products (unit_types.glsl says of what form): 16 of one pair of bits and 16 of the next of
// the same bytes.
struct Raw {
  bool middle;
  Five high, q;
  uvec4 tail;  // four bytes of low scale bits, what follows them; high scale bits, d
};
const uint kApart = 2;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 8 * kBlockBytes;
  Words w = words_around(at);
  const uint h = 4 * (u % 2), scales = 24 + u / 2 % 2;
  return Raw(begins_in_middle(at), five_words(w, h), five_words(w, 8 + u % 8 / 4 * 8 + h),
             uvec4(w.v[scales], w.v[scales + 1], w.v[26], w.v[27]));
}
// Three bits less four: where the high one is 0, the low ones under ones.
uvec4 codes_of(uvec4 low, uvec4 high) { return (~high & 0x01010101u) * 0xfcu + (low & 0x03030303u); }
Unit decode_unit(Raw r, uint u) {
  const uint half_block = u % 8 / 4, pair = u / 2 % 2 * 2;
  const uvec4 high = joined(r.middle, r.high) >> (4 * half_block + pair);
  const uvec4 low = joined(r.middle, r.q) >> (2 * pair);
  // Bytes 0 and 2, or 1 and 3.
  const uint nibbles = joined(r.middle, r.tail.x, r.tail.y) >> (4 * half_block + 8 * (u % 2)) & 0x000f000fu;
  const uint twos = joined(r.middle, r.tail.z, r.tail.w) >> (4 * half_block + pair + 8 * (u % 2)) & 0x00030003u;
  const uint scales = nibbles | twos << 4;
  return Unit(codes_of(low, high), codes_of(low >> 2, high >> 1),
              half_of(r.middle, r.tail.w) * (vec2(scales & 255, scales >> 16) - 32.0), vec2(0.0));
}
#define NO_LOWS
