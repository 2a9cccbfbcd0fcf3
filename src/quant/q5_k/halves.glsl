// What scaled_halves.glsl says, of this format.
#include "vectors.glsl"
struct Eights {
  uvec4 head;
  uvec2 codes, high;
};
Eights load_eights(uint64_t row, uint step, uint c) {
  const uint64_t block = row + step / 4 * kBlockBytes;
  return Eights(Units(block).v[0], Pairs(block + 48).v[step % 4 * 4 + c], Pairs(block + 16).v[c]);
}
#define CODE_MASK 0x001f001fu
#include "scaled_halves.glsl"
void halves_of(Eights e, uint step, uint c, out uvec4 first, out uvec4 second) {
  const bool upper = (step & 2) != 0;
  const uint shift = (step & 1) * 16, bit = (step & 3) * 2;
  K_SCALES(e.head, upper, shift)
  const uvec2 low5 = (e.high >> bit & 0x01010101u) << 4, high5 = (e.high >> (bit + 1) & 0x01010101u) << 4;
  first = four_pairs((e.codes & 0x0f0f0f0fu) | low5, d.x * float(scales & 255), d.y * float(lows & 255));
  second = four_pairs((e.codes >> 4 & 0x0f0f0f0fu) | high5, d.x * float(scales >> 8 & 255), d.y * float(lows >> 8 & 255));
}
