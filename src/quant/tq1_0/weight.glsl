// Value i of a block on the GPU (block.glsl has what reads it).
const uint kBlockValues = 256, kBlockBytes = 54;
// Digit n of byte m, where five (of the last four bytes: four) digits are a fraction in base 3.
int digit_of(uint i) {
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
  return int(rest * 3 >> 8);
}
float block_value(uint i) {
  return half_at(52) * (float(digit_of(i)) - 1.0);
}
