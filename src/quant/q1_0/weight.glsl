// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 128, kBlockBytes = 18;
float block_value(uint i) {
  return half_at(0) * ((u8(2 + i / 8) >> (i % 8) & 1) == 1 ? 1.0 : -1.0);
}
