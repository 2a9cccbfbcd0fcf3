// Value i of a block on the GPU (block.glsl has what reads it). The codes stand at byte 4 there, not at 2 as in the file.
const uint kBlockValues = 32, kBlockBytes = 36;
float block_value(uint i) {
  return half_at(0) * float(s8(4 + i));
}
// Values i … i + 7, i a multiple of 8.
#define HAS_EIGHT
void block_eight(uint i, out float y[8]) {
  const uint low = u32_at(4 + i), high = u32_at(8 + i);
  const float d = half_at(0);
  for (uint j = 0; j < 4; ++j) {
    y[j] = d * float(bitfieldExtract(int(low), int(8 * j), 8));
    y[j + 4] = d * float(bitfieldExtract(int(high), int(8 * j), 8));
  }
}
