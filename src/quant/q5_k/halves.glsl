// Of 64 columns the eight from 8 c and the eight from 32 + 8 c on as f16, in pairs (0, 2), (1, 3), (4, 6), (5, 7): the order of\n// matrix.glsl. 0x6400 | q is the half 1024 + q. load_eights reads what halves_of, later, makes them of.
layout(buffer_reference, std430, buffer_reference_align = 8) readonly buffer Pairs {
  uvec2 v[];
};
struct Eights {
  uvec4 head;
  uvec2 codes, high;
};
Eights load_eights(uint64_t row, uint step, uint c) {
  const uint64_t block = row + step / 4 * kBlockBytes;
  return Eights(Units(block).v[0], Pairs(block + 48).v[step % 4 * 4 + c], Pairs(block + 16).v[c]);
}
uint scaled(uint codes, f16vec2 scale, f16vec2 low) {
  return packFloat2x16(fma(unpackFloat2x16((codes & 0x001f001fu) | 0x64006400u) - f16vec2(1024.0hf), scale, low));
}
uvec4 four_pairs(uvec2 codes, float scale, float low) {
  const f16vec2 s = f16vec2(scale), m = f16vec2(-low);
  return uvec4(scaled(codes.x, s, m), scaled(codes.x >> 8, s, m), scaled(codes.y, s, m), scaled(codes.y >> 8, s, m));
}
void halves_of(Eights e, uint step, uint c, out uvec4 first, out uvec4 second) {
  const bool upper = (step & 2) != 0;
  const uint shift = (step & 1) * 16, bit = (step & 3) * 2;
  const uint scales = (upper ? (e.head.w & 0x0f0f0f0fu) | (e.head.y >> 2 & 0x30303030u) : e.head.y & 0x3f3f3f3fu) >> shift;
  const uint lows =
      (upper ? (e.head.w >> 4 & 0x0f0f0f0fu) | (e.head.z >> 2 & 0x30303030u) : e.head.z & 0x3f3f3f3fu) >> shift;
  const vec2 d = unpackHalf2x16(e.head.x);
  const uvec2 low5 = (e.high >> bit & 0x01010101u) << 4, high5 = (e.high >> (bit + 1) & 0x01010101u) << 4;
  first = four_pairs((e.codes & 0x0f0f0f0fu) | low5, d.x * float(scales & 255), d.y * float(lows & 255));
  second = four_pairs((e.codes >> 4 & 0x0f0f0f0fu) | high5, d.x * float(scales >> 8 & 255), d.y * float(lows >> 8 & 255));
}
