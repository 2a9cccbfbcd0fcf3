// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 98;
float block_value(uint i) {
  const uint word = u32(66 + 4 * (i / 32));
  const uint seven = word >> (7 * (i % 32 / 8)) & 127;
  const uint minus = i % 8 == 7 ? uint(bitCount(seven) & 1) : seven >> (i % 8) & 1;
  const float scale = half_at(0) * (0.5 + float(word >> 28)) * 0.5;
  return signed_value(scale * float(grid4(u8(2 + i / 4), i % 4)), minus);
}
