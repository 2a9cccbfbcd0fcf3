// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 34;
float block_value(uint i) {
  return half_at(0) * float(s8(2 + i));
}
// Values i … i + 7, i a multiple of 8.
#define HAS_EIGHT
void block_eight(uint i, out float y[8]) {
  const uint low = u32_of_halves(2 + i), high = u32_of_halves(6 + i);
  const float d = half_at(0);
  for (uint j = 0; j < 4; ++j) {
    y[j] = d * float(bitfieldExtract(int(low), int(8 * j), 8));
    y[j + 4] = d * float(bitfieldExtract(int(high), int(8 * j), 8));
  }
}
