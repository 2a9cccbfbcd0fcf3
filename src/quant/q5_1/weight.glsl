// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 32, kBlockBytes = 24;
float block_value(uint i) {
  const uint q = u8(8 + (i & 15)), high = u32(4) >> i & 1;
  return half_at(0) * float((i < 16 ? q & 15 : q >> 4) | high << 4) + half_at(2);
}
// Values i … i + 7, i a multiple of 8.
#define HAS_EIGHT
void block_eight(uint i, out float y[8]) {
  const uint at = 8 + (i & 15), shift = i < 16 ? 0 : 4;
  const uint low = u32_of_halves(at) >> shift & 0x0f0f0f0f, high = u32_of_halves(at + 4) >> shift & 0x0f0f0f0f;
  const uint bits = u32_of_halves(4) >> i;
  const float d = half_at(0), m = half_at(2);
  for (uint j = 0; j < 4; ++j) {
    y[j] = d * float((low >> (8 * j) & 15) | (bits >> j & 1) << 4) + m;
    y[j + 4] = d * float((high >> (8 * j) & 15) | (bits >> (j + 4) & 1) << 4) + m;
  }
}
