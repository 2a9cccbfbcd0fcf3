// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 176;
float block_value(uint i) {
  const uint group = i / 32, l = i % 32;
  const uint a = u8(4 + group % 4), b = u8(8 + group % 4), c = u8(12 + group % 4);
  const uint scale = group < 4 ? a & 63 : (c & 15) | (a >> 6) << 4;
  const uint low = group < 4 ? b & 63 : c >> 4 | (b >> 6) << 4;
  const uint q = u8(48 + 32 * (group / 2) + l) >> (4 * (group % 2)) & 15, high = u8(16 + l) >> group & 1;
  return half_at(0) * float(scale) * float(q | high << 4) - half_at(2) * float(low);
}
