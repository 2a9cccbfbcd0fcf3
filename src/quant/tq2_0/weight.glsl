// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 66;
float block_value(uint i) {
  return half_at(64) * (float(u8(32 * (i / 128) + i % 32) >> (2 * (i % 128 / 32)) & 3) - 1.0);
}
