// Signs of eight values in seven bits: the eighth is chosen so that the number of minus signs is even.
//
// IQ2_XXS, IQ2_XS and IQ3_XXS store them so. Must not know: standard headers (kernels include this).
#pragma once

#include <stdint.h>

namespace brass {

struct SignTable {
  uint8_t entry[128];
};

// Bit j of entry i is set where value j is negative.
constexpr SignTable make_even_signs() {
  SignTable out{};
  for (uint32_t i = 0; i < 128; ++i) {
    out.entry[i] = static_cast<uint8_t>(i | static_cast<uint32_t>(__builtin_parity(i)) << 7);
  }
  return out;
}
constexpr SignTable kEvenSigns = make_even_signs();

}  // namespace brass
