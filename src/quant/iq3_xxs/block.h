// IQ3_XXS: 256 values in 8 groups of 32, each eight 8-bit grid indices, four 7-bit sign indices, 4-bit scale:
// value = (d · (scale + ½) · ½) · ±grid. 3.0625 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ3_XXS {
  uint16_t d;                   // f16, scale of the scales
  uint8_t qs[64];               // index into kIq3XxsGrid (grid.h) of values 4k … 4k + 3
  uint32_t signs_and_scale[8];  // of group g: bits 7k … 7k + 6: index into kEvenSigns (common/signs.h) of its
                                // values 8k … 8k + 7; bits 28–31: scale
};
static_assert(sizeof(BlockIQ3_XXS) == 98);

}  // namespace brass
