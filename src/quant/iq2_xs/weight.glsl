// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 74;
float block_value(uint i) {
  const uint both = u16(2 + 2 * (i / 8)), seven = both >> 9;
  const uint minus = i % 8 == 7 ? uint(bitCount(seven) & 1) : seven >> (i % 8) & 1;
  const float scale = half_at(0) * (0.5 + float(u8(66 + i / 32) >> (4 * (i / 16 % 2)) & 15)) * 0.25;
  return signed_value(scale * float(grid8(both & 511, i % 8)), minus);
}
