// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 24;
float block_value(uint i) {
  const uint q = u8(8 + (i & 15)), high = u32(4) >> i & 1;
  return half_at(0) * float((i < 16 ? q & 15 : q >> 4) | high << 4) + half_at(2);
}
