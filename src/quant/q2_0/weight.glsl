// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 64, kBlockBytes = 18;
float block_value(uint i) {
  return half_at(0) * (float(u8(2 + i / 4) >> (2 * (i % 4)) & 3) - 1.0);
}
