// IQ2_XXS: 256 values in 8 groups of 32, each four 8-bit grid indices, four 7-bit sign indices, 4-bit scale:
// value = (d · (scale + ½) · ¼) · ±grid. 2.0625 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ2_XXS {
  uint16_t d;  // f16, scale of the scales
  struct [[gnu::packed]] {
    uint8_t grid[4];           // indices into kIq2XxsGrid (grid.h), one for 8 values
    uint32_t signs_and_scale;  // bits 7k … 7k + 6: index into kEvenSigns (common/signs.h) of values
                               // 8k … 8k + 7; bits 28–31: scale
  } group[8];
};
static_assert(sizeof(BlockIQ2_XXS) == 66);

}  // namespace brass
