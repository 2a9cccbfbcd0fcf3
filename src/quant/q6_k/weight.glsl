// Value i of a block on the GPU (block.glsl has what reads it). Blocks are 224 bytes apart there, so that words are whole.
const uint kBlockValues = 256, kBlockBytes = 224;
float block_value(uint i) {
  const uint half_block = i / 128, part = i % 128 / 32, l = i % 32;
  const uint low = u8(64 * half_block + 32 * (part & 1) + l) >> (4 * (part / 2)) & 15;
  const uint high = u8(128 + 32 * half_block + l) >> (2 * part) & 3;
  return half_at(208) * float(s8(192 + i / 16)) * (float(low | high << 4) - 32.0);
}
// Values i … i + 7, i a multiple of 8.
#define HAS_EIGHT
void block_eight(uint i, out float y[8]) {
  const uint half_block = i / 128, part = i % 128 / 32, l = i % 32, shift = 4 * (part / 2);
  const uint q = 64 * half_block + 32 * (part & 1) + l, h = 128 + 32 * half_block + l;
  const uint low = u32_at(q) >> shift & 0x0f0f0f0f, high = u32_at(q + 4) >> shift & 0x0f0f0f0f;
  const uint low2 = u32_at(h) >> (2 * part) & 0x03030303, high2 = u32_at(h + 4) >> (2 * part) & 0x03030303;
  const float d = half_at(208) * float(s8(192 + i / 16));
  for (uint j = 0; j < 4; ++j) {
    y[j] = d * (float((low >> (8 * j) & 15) | (low2 >> (8 * j) & 3) << 4) - 32.0);
    y[j + 4] = d * (float((high >> (8 * j) & 15) | (high2 >> (8 * j) & 3) << 4) - 32.0);
  }
}
