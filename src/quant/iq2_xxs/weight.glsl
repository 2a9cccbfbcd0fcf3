// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 66;
float block_value(uint i) {
  const uint group = i / 32, word = u32(6 + 8 * group);
  const uint seven = word >> (7 * (i % 32 / 8)) & 127;
  const uint minus = i % 8 == 7 ? uint(bitCount(seven) & 1) : seven >> (i % 8) & 1;
  const float scale = half_at(0) * (0.5 + float(word >> 28)) * 0.25;
  return signed_value(scale * float(grid8(u8(2 + 8 * group + i % 32 / 8), i % 8)), minus);
}
