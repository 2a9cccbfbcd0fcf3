// 32 values as int8 codes for products (unit_types.glsl says of what form): a block, low nibbles before high ones.
struct Raw {
  float d;
  uint high;
  uvec4 q;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  block_at = Bytes(row + u * kBlockBytes);
  return Raw(half_at(0), u32_of_halves(2), four_words_of_halves(6));
}
Unit decode_unit(Raw r, uint u) {
  return Unit((r.q & 0x0f0f0f0fu) | bytes_of_bits(r.high) << 4,
              (r.q >> 4 & 0x0f0f0f0fu) | bytes_of_bits(r.high >> 16) << 4, vec2(r.d), vec2(16.0 * r.d));
}
