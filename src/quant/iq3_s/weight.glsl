// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 110;
float block_value(uint i) {
  const uint group = i / 32, index = u8(2 + i / 4) | (u8(66 + group) >> (i % 32 / 4) & 1) << 8;
  const uint minus = u8(74 + i / 8) >> (i % 8) & 1;
  const float scale = half_at(0) * float(1 + 2 * (u8(106 + group / 2) >> (4 * (group % 2)) & 15));
  return signed_value(scale * float(grid4(index, i % 4)), minus);
}
