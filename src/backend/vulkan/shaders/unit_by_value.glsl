// Units of formats that give their codes one by one.
struct Raw {
  uint64_t row;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) { return Raw(row); }
uvec4 sixteen_codes(uint i) {
  uvec4 words = uvec4(0);
  for (uint j = 0; j < 16; ++j) words[j / 4] |= uint(block_code(i + j) & 255) << (8 * (j % 4));
  return words;
}
Unit decode_unit(Raw r, uint u) {
  block_at = Bytes(r.row + 32 * u / kBlockValues * kBlockBytes);
  const uint i = 32 * u % kBlockValues;
#ifdef HAS_LOWS
  const vec2 low = vec2(block_low(i), block_low(i + 16));
#else
  const vec2 low = vec2(0.0);
#endif
  return Unit(sixteen_codes(i), sixteen_codes(i + 16), vec2(block_scale(i), block_scale(i + 16)), low);
}
#ifndef HAS_LOWS
#define NO_LOWS
#endif
