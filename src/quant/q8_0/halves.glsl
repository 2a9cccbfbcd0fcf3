// Of 64 columns the eight from 8 c and the eight from 32 + 8 c on as f16, in pairs (0, 2), (1, 3), (4, 6), (5, 7): the order of
// matrix.glsl. 0x6400 | q is the half 1024 + q. load_eights reads what halves_of, later, makes them of.
struct Eights {
  uvec2 first, second;
  uint d;
};
Eights load_eights(uint64_t row, uint step, uint c) {
  block_at = Bytes(row + 2 * step * kBlockBytes);
  const uint at = kBlockBytes - 32 + 8 * c, other = at + kBlockBytes;
  return Eights(uvec2(u32_at(at), u32_at(at + 4)), uvec2(u32_at(other), u32_at(other + 4)),
                u16(0) | u16(kBlockBytes) << 16);
}
uint scaled(uint codes, f16vec2 scale) {
  return packFloat2x16((unpackFloat2x16((codes & 0x00ff00ffu) | 0x64006400u) - f16vec2(1152.0hf)) * scale);
}
uvec4 four_pairs(uvec2 codes, float scale) {
  const f16vec2 s = f16vec2(scale);
  codes ^= 0x80808080u;
  return uvec4(scaled(codes.x, s), scaled(codes.x >> 8, s), scaled(codes.y, s), scaled(codes.y >> 8, s));
}
void halves_of(Eights e, uint step, uint c, out uvec4 first, out uvec4 second) {
  const vec2 d = unpackHalf2x16(e.d);
  first = four_pairs(e.first, d.x);
  second = four_pairs(e.second, d.y);
}
