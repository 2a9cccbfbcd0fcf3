// F32: IEEE 754 binary32, little-endian.
#include <cstring>

#include "quant/common/float_format.h"

namespace brass {
namespace {

void decode(const std::byte* blocks, float* out, size_t n) { std::memcpy(out, blocks, n * sizeof(float)); }

void encode(const float* values, std::byte* blocks, size_t n, const float*) {
  std::memcpy(blocks, values, n * sizeof(float));
}

void set_scale(std::byte* block, float magnitude) {
  uint16_t random;
  std::memcpy(&random, block, sizeof random);
  const float value = random_value(random, magnitude);
  std::memcpy(block, &value, sizeof value);
}

}  // namespace

extern constinit const Format format_f32 = {.type = Type::F32,
                                            .name = "F32",
                                            .block_values = 1,
                                            .block_bytes = 4,
                                            .group = 0,
                                            .has_min = false,
                                            .decode = decode,
                                            .encode = encode,
                                            .view = nullptr,
                                            .find_non_finite = find_non_finite_value<uint32_t, 0x7f800000u>,
                                            .set_scale = set_scale};

}  // namespace brass
