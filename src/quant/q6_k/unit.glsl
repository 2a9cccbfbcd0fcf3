// 32 values as int8 codes for products (unit_types.glsl says of what form): 16 low nibbles and the high ones of the same bytes.
struct Raw {
  uvec4 q, high;
  uvec2 scales;
  uint d;
};
const uint kApart = 4;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 8 * kBlockBytes;
  const uint half_block = u / 4 % 2;
  return Raw(Quads(at).v[u % 8], Quads(at).v[8 + 2 * half_block + u % 2], Pairs(at + 192).v[half_block], Words(at + 208).v[0]);
}
Unit decode_unit(Raw r, uint u) {
  const uint shift = u / 2 % 2 * 2, byte = u % 4 * 8;
  const uvec4 high = r.high >> shift;
  const vec2 scale = unpackHalf2x16(r.d).x * vec2(bitfieldExtract(ivec2(r.scales), int(byte), 8));
  return Unit((r.q & 0x0f0f0f0fu) | (high & 0x03030303u) << 4, (r.q >> 4 & 0x0f0f0f0fu) | (high & 0x30303030u), scale,
              32.0 * scale);
}
