// BF16: the upper half of an IEEE 754 binary32, little-endian.
#include <cstring>

#include "base/half.h"
#include "quant/common/float_format.h"

namespace brass {
namespace {

void decode(const std::byte* __restrict blocks, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, blocks + 2 * i, sizeof bits);
    out[i] = bf16_to_f32(bits);
  }
}

void encode(const float* __restrict values, std::byte* __restrict blocks, size_t n, const float*) {
  for (size_t i = 0; i < n; ++i) {
    const uint16_t bits = f32_to_bf16(values[i]);
    std::memcpy(blocks + 2 * i, &bits, sizeof bits);
  }
}

void set_scale(std::byte* block, float magnitude) {
  uint16_t bits;
  std::memcpy(&bits, block, sizeof bits);
  bits = f32_to_bf16(random_value(bits, magnitude));
  std::memcpy(block, &bits, sizeof bits);
}

}  // namespace

extern constinit const Format format_bf16 = {.type = Type::BF16,
                                             .name = "BF16",
                                             .block_values = 1,
                                             .block_bytes = 2,
                                             .group = 0,
                                             .has_min = false,
                                             .decode = decode,
                                             .encode = encode,
                                             .view = nullptr,
                                             .find_non_finite = find_non_finite_value<uint16_t, 0x7f80u>,
                                             .set_scale = set_scale};

}  // namespace brass
