// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 64, kBlockBytes = 36;
float block_value(uint i) {
  const uint group = i / 16, l = i % 16, q = u8(4 + 8 * group + (l & 7)), code = u8(group) & 127;
  // E4M3 is an f16 with eight exponents less: twice the half of the format's own order.
  const float scale = code == 127 ? 0.0 : unpackHalf2x16(code << 7).x * 128.0;
  return scale * float(kE2m1Doubled[l < 8 ? q & 15 : q >> 4]);
}
