// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 84;
float block_value(uint i) {
  const uint half_block = i / 128, pair = i % 128 / 32, l = i % 32;
  const uint q = u8(16 + 32 * half_block + l) >> (2 * pair) & 3, scale = u8(i / 16);
  return half_at(80) * float(scale & 15) * float(q) - half_at(82) * float(scale >> 4);
}
