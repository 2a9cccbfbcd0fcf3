// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 34;
float block_value(uint i) {
  return half_at(0) * float(s8(2 + i));
}
