// IQ1_M: 256 values in 16 groups of 16, each two 11-bit grid indices with a shift of ±⅛ each, a 3-bit scale:
// value = (d · (2 · scale + 1)) · (grid ± ⅛). 1.75 bits a value.
#pragma once

#include <cstdint>

namespace brass {

struct [[gnu::packed]] BlockIQ1_M {
  uint8_t qs[32];      // bits 0–7 of the index into kIq1Grid (common/iq1_grid.h) of values 8k … 8k + 7
  uint8_t qh[16];      // nibble k % 2 of byte k / 2: bits 8–10 of index k, and bit 3: its shift is −⅛
  uint16_t scales[4];  // scale of group g: bits 3i … 3i + 2 of word g / 4, i = g % 4; bits 12–15 of the four
                       // words are the four nibbles of d (f16), lowest first
};
static_assert(sizeof(BlockIQ1_M) == 56);

}  // namespace brass
