// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 64, kBlockBytes = 36;
// E4M3 is an f16 with eight exponents less: twice the half of the format's own order.
float scale_of_code(uint code) { return code == 127 ? 0.0 : unpackHalf2x16(code << 7).x * 128.0; }
float block_value(uint i) {
  const uint group = i / 16, l = i % 16, q = u8(4 + 8 * group + (l & 7));
  return scale_of_code(u8(group) & 127) * float(kE2m1Doubled[l < 8 ? q & 15 : q >> 4]);
}
