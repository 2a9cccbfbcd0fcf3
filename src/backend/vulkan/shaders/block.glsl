// Values of a weight in its file's format. weight.glsl is the one of the format (src/quant), which reads the block that
// `block_at` names. `grid` is the code book of formats that have one: a byte a value.
Bytes block_at, grid;

layout(buffer_reference, std430, buffer_reference_align = 2) readonly buffer Shorts {
  uint16_t v[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer Words {
  uint v[];
};
// At even bytes of a block whose size is even; at multiples of four where its size is one.
uint u32_of_halves(uint at) {
  Shorts two = Shorts(uint64_t(block_at));
  return uint(two.v[at / 2]) | uint(two.v[at / 2 + 1]) << 16;
}
uint u32_at(uint at) { return Words(uint64_t(block_at)).v[at / 4]; }

uint u8(uint at) { return uint(block_at.v[at]); }
int s8(uint at) { return int(int8_t(block_at.v[at])); }
uint u16(uint at) { return u8(at) | u8(at + 1) << 8; }
uint u32(uint at) { return u16(at) | u16(at + 2) << 16; }
float half_at(uint at) { return unpackHalf2x16(u16(at)).x; }
int grid8(uint entry, uint value) { return int(int8_t(grid.v[8 * entry + value])); }
int grid4(uint entry, uint value) { return int(int8_t(grid.v[4 * entry + value])); }
float signed_value(float size, uint minus) { return (minus & 1) != 0 ? -size : size; }

// Of the formats IQ4 and the 4-bit floats (times two).
const int kIq4Levels[16] = int[](-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
const int kE2m1Doubled[16] = int[](0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

#include "weight.glsl"

float value_of(uint64_t row, uint k) {
  block_at = Bytes(row + uint64_t(k / kBlockValues) * kBlockBytes);
  return block_value(k % kBlockValues);
}

// Values k … k + 7 of a row, k a multiple of 8 and of a format whose blocks are, too.
void eight_of(uint64_t row, uint k, out float y[8]) {
#ifdef HAS_EIGHT
  block_at = Bytes(row + uint64_t(k / kBlockValues) * kBlockBytes);
  block_eight(k % kBlockValues, y);
#else
  for (uint j = 0; j < 8; ++j) y[j] = value_of(row, k + j);
#endif
}
