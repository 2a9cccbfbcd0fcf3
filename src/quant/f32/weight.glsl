// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 1, kBlockBytes = 4;
float block_value(uint i) {
  return uintBitsToFloat(u32_at(0));
}
// The value and the seven behind it.
#define HAS_EIGHT
void block_eight(uint i, out float y[8]) {
  for (uint j = 0; j < 8; ++j) y[j] = uintBitsToFloat(u32_at(4 * j));
}
