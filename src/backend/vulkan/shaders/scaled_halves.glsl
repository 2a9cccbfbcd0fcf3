// Formats with scales and minimums of 32 columns (Q4_K, Q5_K), in the order of matrix.glsl: of 64 columns the eight from 8 c and the
// eight from 32 + 8 c on as f16, in pairs (0, 2), (1, 3), (4, 6), (5, 7). 0x6400 | q is the half 1024 + q. Who includes it says which
// bits of a half are its code: CODE_MASK. load_eights reads what halves_of, later, makes them of.
#include "k_scales.glsl"
uint scaled(uint codes, f16vec2 scale, f16vec2 low) {
  return packFloat2x16(fma(unpackFloat2x16((codes & CODE_MASK) | 0x64006400u) - f16vec2(1024.0hf), scale, low));
}
uvec4 four_pairs(uvec2 codes, float scale, float low) {
  const f16vec2 s = f16vec2(scale), m = f16vec2(-low);
  return uvec4(scaled(codes.x, s, m), scaled(codes.x >> 8, s, m), scaled(codes.y, s, m), scaled(codes.y >> 8, s, m));
}
