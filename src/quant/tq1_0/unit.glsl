// 32 values as int8 codes for products (unit_types.glsl says of what form): 32 bytes of one digit, or 16 of two digits; the
// last 16 values are four digits of four bytes.
struct Raw {
  bool middle;
  Five first, second;
  uint d;
};
const uint kApart = 1;
Raw load_unit(uint64_t row, uint u) {
  const uint64_t at = row + u / 8 * kBlockBytes;
  Words w = words_around(at);
  const uint v = u % 8, a = v < 5 ? 0 : 8, b = v < 5 ? 4 : v < 7 ? 8 : 9;  // the four bytes come last of those of 9
  return Raw(begins_in_middle(at), five_words(w, a), five_words(w, b), w.v[13]);
}
uint power_of_3(uint n) { return ((n & 1) != 0 ? 3 : 1) * ((n & 2) != 0 ? 9 : 1) * ((n & 4) != 0 ? 81 : 1); }
// A byte is a fraction in base 3: times the power its integer part is away, and three times the rest begins with the digit.
uvec4 digits_of(uvec4 q, uvec4 power) {
  const uvec4 even = (q & 0x00ff00ffu) * power & 0x00ff00ffu, odd = (q >> 8 & 0x00ff00ffu) * power & 0x00ff00ffu;
  return less_one((even * 3 >> 8 & 0x00030003u) | (odd * 3 & 0x03000300u));
}
Unit decode_unit(Raw r, uint u) {
  const uint v = u % 8;
  const uvec4 first = joined(r.middle, r.first), second = joined(r.middle, r.second);
  const uint power = power_of_3(v < 5 ? v : 2 * v - 10);
  return Unit(digits_of(first, uvec4(power)),
              digits_of(v < 7 ? second : second.wwww, v < 5 ? uvec4(power) : v < 7 ? uvec4(3 * power) : uvec4(1, 3, 9, 27)),
              vec2(half_of(r.middle, r.d)), vec2(0.0));
}
#define NO_LOWS
