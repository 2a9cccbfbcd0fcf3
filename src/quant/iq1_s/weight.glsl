// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 50;
float block_value(uint i) {
  const uint group = i / 32, high = u16(34 + 2 * group);
  const uint index = u8(2 + i / 8) | (high >> (3 * (i % 32 / 8)) & 7) << 8;
  const float scale = half_at(0) * float(2 * (high >> 12 & 7) + 1), shift = (high & 0x8000) != 0 ? -0.125 : 0.125;
  return scale * (float(grid8(index, i % 8)) + shift);
}
