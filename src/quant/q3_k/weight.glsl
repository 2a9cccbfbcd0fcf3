// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 110;
float block_value(uint i) {
  const uint half_block = i / 128, pair = i % 128 / 32, l = i % 32, group = i / 16;
  const uint low = u8(32 + 32 * half_block + l) >> (2 * pair) & 3, high = u8(l) >> (4 * half_block + pair) & 1;
  const uint nibble = (u8(96 + group % 8) >> (4 * (group / 8))) & 15, two = u8(104 + group % 4) >> (2 * (group / 4)) & 3;
  return half_at(108) * (float(nibble | two << 4) - 32.0) * (float(low | high << 2) - 4.0);
}
