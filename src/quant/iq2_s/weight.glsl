// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 82;
float block_value(uint i) {
  const uint k = i / 8, index = u8(2 + k) | (u8(66 + k / 4) >> (2 * (k % 4)) & 3) << 8;
  const uint minus = u8(34 + k) >> (i % 8) & 1;
  const float scale = half_at(0) * (0.5 + float(u8(74 + i / 32) >> (4 * (i / 16 % 2)) & 15)) * 0.25;
  return signed_value(scale * float(grid8(index, i % 8)), minus);
}
