// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 54;
float block_value(uint i) {
  // Digit n of byte m, where five (of the last four bytes: four) digits are a fraction in base 3.
  uint at, digit;
  if (i < 160) {
    at = i % 32, digit = i / 32;
  } else if (i < 240) {
    at = 32 + (i - 160) % 16, digit = (i - 160) / 16;
  } else {
    at = 48 + (i - 240) % 4, digit = (i - 240) / 4;
  }
  uint rest = u8(at);
  for (uint n = 0; n < digit; ++n) rest = rest * 3 & 255;
  return half_at(52) * (float(rest * 3 >> 8) - 1.0);
}
