// The formats that are not quantized: one number a block, no canonical view.
//
// Owns: their scan for non-finite values. Must not know: how a number is converted.
#pragma once

#include <algorithm>
#include <cstring>

#include "quant/format.h"

namespace brass {

// Number of the first value whose exponent bits are all ones, or -1. `infinity`: the bits of +inf.
template <class Word, Word infinity>
ptrdiff_t find_non_finite_value(const std::byte* values, size_t n) {
  constexpr Word kNoSign = static_cast<Word>(~Word{0}) >> 1;
  constexpr size_t kChunk = 1024;
  for (size_t start = 0; start < n; start += kChunk) {
    const size_t count = std::min(kChunk, n - start);
    Word words[kChunk];
    std::memcpy(words, values + start * sizeof(Word), count * sizeof(Word));
    Word largest = 0;  // finite magnitudes order below infinity: the chunk is one vectorized maximum
    for (size_t i = 0; i < count; ++i) largest = std::max(largest, static_cast<Word>(words[i] & kNoSign));
    if (largest < infinity) continue;
    for (size_t i = 0; i < count; ++i) {
      if ((words[i] & kNoSign) >= infinity) return static_cast<ptrdiff_t>(start + i);
    }
  }
  return -1;
}

// Uniform in ±√3 · magnitude, so of that root mean square, from 16 random bits.
inline float random_value(uint16_t random, float magnitude) {
  return magnitude * 1.7320508f / 32768.0f * static_cast<float>(static_cast<int16_t>(random));
}

}  // namespace brass
