// Small floats of the OCP microscaling formats (OCP MX specification 1.0, 2023) and NVFP4.
//
// Must not know: standard headers (kernels include this).
#pragma once

#include <stdint.h>

namespace brass {

// E2M1 (sign, two exponent bits, one mantissa bit) times two, so that the values are integers.
constexpr int8_t kE2m1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Half of an E8M0 scale, 2^(e − 128), so that half · doubled E2M1 is the value. Exact for every e (2^-128 and
// 2^-127 are f32 subnormals); e = 255 is the NaN of the format and gives 2^127 here.
constexpr float half_e8m0(uint8_t e) {
  const uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23;
  return __builtin_bit_cast(float, bits);
}

// Half of an unsigned E4M3 scale (bias 7, subnormals at exponent 0; bit 7 is ignored). 0x7f is the NaN of the
// format: the reference decodes it as 0, and so does this.
constexpr float half_ue4m3(uint8_t s) {
  if (s == 0x7f) return 0.0f;
  const int exponent = (s >> 3) & 15, mantissa = s & 7;
  if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
  return __builtin_bit_cast(
      float, static_cast<uint32_t>(exponent + 127 - 8) << 23 | static_cast<uint32_t>(mantissa) << 20);
}

// The unsigned E4M3 scale nearest to `value` among 0 … 448 (ties to the smaller).
constexpr uint8_t nearest_ue4m3(float value) {
  uint8_t low = 0, high = 0x7e;  // codes order as their values do
  while (high - low > 1) {
    const auto middle = static_cast<uint8_t>((low + high) / 2);
    if (2.0f * half_ue4m3(middle) <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return value - 2.0f * half_ue4m3(low) <= 2.0f * half_ue4m3(high) - value ? low : high;
}

}  // namespace brass
