// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 176;
float block_value(uint i) {
  const uint group = i / 32, l = i % 32;
  const uint a = u8(4 + group % 4), b = u8(8 + group % 4), c = u8(12 + group % 4);
  const uint scale = group < 4 ? a & 63 : (c & 15) | (a >> 6) << 4;
  const uint low = group < 4 ? b & 63 : c >> 4 | (b >> 6) << 4;
  const uint q = u8(48 + 32 * (group / 2) + l) >> (4 * (group % 2)) & 15, high = u8(16 + l) >> group & 1;
  return half_at(0) * float(scale) * float(q | high << 4) - half_at(2) * float(low);
}
// Values i … i + 7, i a multiple of 8.
#define HAS_EIGHT
void block_eight(uint i, out float y[8]) {
  const uint group = i / 32, l = i % 32, byte = 8 * (group % 4);
  const uint a = u32_at(4) >> byte & 255, b = u32_at(8) >> byte & 255, c = u32_at(12) >> byte & 255;
  const uint scale = group < 4 ? a & 63 : (c & 15) | (a >> 6) << 4;
  const uint offset = group < 4 ? b & 63 : c >> 4 | (b >> 6) << 4;
  const vec2 both = unpackHalf2x16(u32_at(0));
  const float d = both.x * float(scale), m = both.y * float(offset);
  const uint at = 48 + 32 * (group / 2) + l, shift = 4 * (group % 2);
  const uint low = u32_at(at) >> shift & 0x0f0f0f0f, high = u32_at(at + 4) >> shift & 0x0f0f0f0f;
  const uint low5 = u32_at(16 + l) >> group & 0x01010101, high5 = u32_at(20 + l) >> group & 0x01010101;
  for (uint j = 0; j < 4; ++j) {
    y[j] = d * float((low >> (8 * j) & 15) | (low5 >> (8 * j) & 1) << 4) - m;
    y[j + 4] = d * float((high >> (8 * j) & 15) | (high5 >> (8 * j) & 1) << 4) - m;
  }
}
