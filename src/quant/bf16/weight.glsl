// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 1, kBlockBytes = 2;
float block_value(uint i) {
  return uintBitsToFloat(u16(0) << 16);
}
