// NVFP4: 64 E2M1 values in 4 groups of 16, each under an unsigned E4M3 scale: value = ue4m3 · e2m1.
// 4.5 bits a value. (A tensor beside the weight may hold one more f32 factor: not the business of a block.)
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockNVFP4 {
  uint8_t scales[4];  // unsigned E4M3 (common/fp4.h) of values 16 g … 16 g + 15; 0x7f is NaN
  uint8_t qs[32];     // 8 bytes a group of E2M1; low nibble: value j, high nibble: value j + 8
};
static_assert(sizeof(BlockNVFP4) == 36);

}  // namespace brass
