// What scaled_halves.glsl says, of this format.
#include "vectors.glsl"
struct Eights {
  uvec4 head;
  uvec2 codes;
};
Eights load_eights(uint64_t row, uint step, uint c) {
  const uint64_t block = row + step / 4 * kBlockBytes;
  return Eights(Units(block).v[0], Pairs(block + 16).v[step % 4 * 4 + c]);
}
#define CODE_MASK 0x000f000fu
#include "scaled_halves.glsl"
void halves_of(Eights e, uint step, uint c, out uvec4 first, out uvec4 second) {
  const bool upper = (step & 2) != 0;
  const uint shift = (step & 1) * 16;
  K_SCALES(e.head, upper, shift)
  first = four_pairs(e.codes, d.x * float(scales & 255), d.y * float(lows & 255));
  second = four_pairs(e.codes >> 4, d.x * float(scales >> 8 & 255), d.y * float(lows >> 8 & 255));
}
