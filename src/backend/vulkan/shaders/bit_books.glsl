// Books of 16 codes without a table, for unit.glsl of formats whose nibbles name entries: each bit of a code is a function of
// the nibble's four bits, found for 32 nibbles at once. An array indexed by a variable would lie in local memory.

// Bit b of nibble n of word w becomes bit w of nibble n of word b.
uvec4 turned(uvec4 q) {
  const uvec2 even = (q.xz & 0x55555555u) | (q.yw << 1 & 0xaaaaaaaau), odd = (q.xz >> 1 & 0x55555555u) | (q.yw & 0xaaaaaaaau);
  const uvec2 a = uvec2(even.x, odd.x), b = uvec2(even.y, odd.y);
  return uvec4((a & 0x33333333u) | (b << 2 & 0xccccccccu), (a >> 2 & 0x33333333u) | (b & 0xccccccccu));
}

// Codes of the low nibbles of words, and of the high ones, from their bits.
void codes_of_bits(uvec4 low_bits, uvec4 high_bits, out uvec4 of_low, out uvec4 of_high) {
  const uvec4 low = turned(low_bits), high = turned(high_bits);
  of_low = (low & 0x0f0f0f0fu) | (high << 4 & 0xf0f0f0f0u);
  of_high = (low >> 4 & 0x0f0f0f0fu) | (high & 0xf0f0f0f0u);
}
// kIq4Levels (block.glsl).
void iq4_codes(uvec4 q, out uvec4 of_low, out uvec4 of_high) {
  const uvec4 p = turned(q);
  const uint a = (p.w ^ (p.y | (p.z & p.w))), b = (p.x ^ p.y) | (p.x ^ p.z);
  codes_of_bits(uvec4((a ^ p.z) | ~(a | p.x), p.z ^ ((p.x & (p.y ^ p.z)) | (p.z & p.w)),
                      (p.y ^ (p.z | (p.y & p.w))) ^ (p.x & (p.y | p.w) & (p.z ^ p.w)),
                      b ^ (p.w & (p.x | p.z) & (p.y ^ p.z))),
                uvec4(p.x ^ (b & p.w), ((p.w & ~p.x) ^ p.y) & (p.y | p.z), (p.x | p.y | ~p.w) & p.z, ~p.w), of_low, of_high);
}
// kE2m1Doubled (block.glsl).
void e2m1_codes(uvec4 q, out uvec4 of_low, out uvec4 of_high) {
  const uvec4 p = turned(q);
  codes_of_bits(uvec4(p.x & ~p.z, ((p.z | (p.x & p.w)) ^ p.y) & (p.x | p.y), (p.w & (p.x | p.y)) ^ (p.z & (~p.y | (p.x ^ p.w))),
                      (p.y & p.z) ^ (p.w & (p.x | (p.y ^ p.z)))),
                uvec4((p.x | p.y | p.z) & p.w), of_low, of_high);
}
