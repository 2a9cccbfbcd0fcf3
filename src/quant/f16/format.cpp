// F16: IEEE 754 binary16, little-endian.
#include <cstring>

#include "base/half.h"
#include "quant/common/float_format.h"

namespace brass {
namespace {

void decode(const std::byte* __restrict blocks, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, blocks + 2 * i, sizeof bits);
    out[i] = f16_to_f32(bits);
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
