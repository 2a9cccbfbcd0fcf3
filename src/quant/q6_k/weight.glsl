// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 210;
float block_value(uint i) {
  const uint half_block = i / 128, part = i % 128 / 32, l = i % 32;
  const uint low = u8(64 * half_block + 32 * (part & 1) + l) >> (4 * (part / 2)) & 15;
  const uint high = u8(128 + 32 * half_block + l) >> (2 * part) & 3;
  return half_at(208) * float(s8(192 + i / 16)) * (float(low | high << 4) - 32.0);
}
