// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 18;
float block_value(uint i) {
  const uint q = u8(2 + (i & 15));
  return half_at(0) * float(kIq4Levels[i < 16 ? q & 15 : q >> 4]);
}
