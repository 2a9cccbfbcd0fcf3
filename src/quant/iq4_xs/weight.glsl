// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 136;
float block_value(uint i) {
  const uint group = i / 32, l = i % 32, q = u8(8 + 16 * group + (l & 15));
  const uint scale = (u8(4 + group / 2) >> (4 * (group % 2)) & 15) | (u16(2) >> (2 * group) & 3) << 4;
  return half_at(0) * (float(scale) - 32.0) * float(kIq4Levels[l < 16 ? q & 15 : q >> 4]);
}
