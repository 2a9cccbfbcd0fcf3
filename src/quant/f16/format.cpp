// F16: IEEE 754 binary16, little-endian.
#include <bit>
#include <cstring>

#include "base/half.h"
#include "quant/common/float_format.h"

namespace brass {
namespace {

// f16_to_f32 with masks in place of branches, so that a loop over it vectorizes.
inline float widen(uint16_t bits) {
  const int32_t rest = bits & 0x7fff;
  const int32_t subnormal = std::bit_cast<int32_t>(static_cast<float>(rest) * 0x1p-24f);
  const int32_t normal = (rest << 13) + (112 << 23);
  const int32_t is_subnormal = -static_cast<int32_t>(rest < 0x400);
  const int32_t is_special =
      -static_cast<int32_t>(rest >= 0x7c00);  // infinite or NaN: exponent bits all ones
  const int32_t magnitude = (subnormal & is_subnormal) | (normal & ~is_subnormal) | (0x7f800000 & is_special);
  return std::bit_cast<float>(static_cast<uint32_t>(magnitude) | static_cast<uint32_t>(bits & 0x8000) << 16);
}

void decode(const std::byte* __restrict blocks, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, blocks + 2 * i, sizeof bits);
    out[i] = widen(bits);
  }
}

void encode(const float* __restrict values, std::byte* __restrict blocks, size_t n, const float*) {
  for (size_t i = 0; i < n; ++i) {
    const uint16_t bits = f32_to_f16(values[i]);
    std::memcpy(blocks + 2 * i, &bits, sizeof bits);
  }
}

void set_scale(std::byte* block, float magnitude) {
  uint16_t bits;
  std::memcpy(&bits, block, sizeof bits);
  bits = f32_to_f16(random_value(bits, magnitude));
  std::memcpy(block, &bits, sizeof bits);
}

}  // namespace

extern constinit const Format format_f16 = {.type = Type::F16,
                                            .name = "F16",
                                            .block_values = 1,
                                            .block_bytes = 2,
                                            .group = 0,
                                            .has_min = false,
                                            .decode = decode,
                                            .encode = encode,
                                            .view = nullptr,
                                            .find_non_finite = find_non_finite_value<uint16_t, 0x7c00u>,
                                            .set_scale = set_scale};

}  // namespace brass
