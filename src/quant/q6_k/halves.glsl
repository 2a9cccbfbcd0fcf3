// Of 64 columns the eight from 8 c and the eight from 32 + 8 c on as f16, in pairs (0, 2), (1, 3), (4, 6), (5, 7): the order of
// matrix.glsl. 0x6400 | q is the half 1024 + q. load_eights reads what halves_of, later, makes them of.
struct Eights {
  uvec2 first, second, high;
  uint scales, d;
};
uvec2 two_words(uint at) { return uvec2(u32_at(at), u32_at(at + 4)); }
Eights load_eights(uint64_t row, uint step, uint c) {
  block_at = Bytes(row + step / 4 * kBlockBytes);
  const uint half_block = step / 2 % 2, codes = 64 * half_block + 8 * c, scales = 192 + step % 4 * 4 + c / 2;
  return Eights(two_words(codes), two_words(codes + 32), two_words(128 + 32 * half_block + 8 * c),
                u8(scales) | u8(scales + 2) << 8, uint(Shorts(uint64_t(block_at)).v[104]));
}
uint scaled(uint codes, f16vec2 scale) {
  return packFloat2x16((unpackFloat2x16((codes & 0x003f003fu) | 0x64006400u) - f16vec2(1056.0hf)) * scale);
}
uvec4 four_pairs(uvec2 codes, float scale) {
  const f16vec2 s = f16vec2(scale);
  return uvec4(scaled(codes.x, s), scaled(codes.x >> 8, s), scaled(codes.y, s), scaled(codes.y >> 8, s));
}
void halves_of(Eights e, uint step, uint c, out uvec4 first, out uvec4 second) {
  const uint shift = step % 2 * 4;
  const float d = unpackHalf2x16(e.d).x;
  const uvec2 high = e.high >> shift;
  first = four_pairs((e.first >> shift & 0x0f0f0f0fu) | (high & 0x03030303u) << 4,
                     d * float(bitfieldExtract(int(e.scales), 0, 8)));
  second = four_pairs((e.second >> shift & 0x0f0f0f0fu) | (high >> 2 & 0x03030303u) << 4,
                      d * float(bitfieldExtract(int(e.scales), 8, 8)));
}
