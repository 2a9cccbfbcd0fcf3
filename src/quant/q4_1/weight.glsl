// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 20;
float block_value(uint i) {
  const uint q = u8(4 + (i & 15));
  return half_at(0) * float(i < 16 ? q & 15 : q >> 4) + half_at(2);
}
