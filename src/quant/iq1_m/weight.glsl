// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 56;
float block_value(uint i) {
  const uint k = i / 8, high = u8(32 + k / 2) >> (4 * (k % 2)) & 15;
  const uint scales = u16(48 + 2 * (i / 64)) >> (3 * (i / 16 % 4)) & 7;
  const uint d = u16(48) >> 12 | (u16(50) >> 12) << 4 | (u16(52) >> 12) << 8 | (u16(54) >> 12) << 12;
  const float scale = unpackHalf2x16(d).x * float(2 * scales + 1), shift = (high & 8) != 0 ? -0.125 : 0.125;
  return scale * (float(grid8(u8(k) | (high & 7) << 8, i % 8)) + shift);
}
