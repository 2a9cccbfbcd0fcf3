// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 1, kBlockBytes = 4;
float block_value(uint i) {
  return uintBitsToFloat(u32(0));
}
