// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 17;
float scale_of_exponent(uint e) { return uintBitsToFloat(e < 2 ? 0x00200000u << e : (e - 1) << 23); }
float block_value(uint i) {
  const uint q = u8(1 + (i & 15));
  return scale_of_exponent(u8(0)) * float(kE2m1Doubled[i < 16 ? q & 15 : q >> 4]);
}
