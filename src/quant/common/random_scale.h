// Scales for blocks of random bytes (random_blocks.h).
#pragma once

#include "base/half.h"

namespace brass {

// An f16 scale of 0.75 to 1.25 × `magnitude`; the variation comes from the random bits that stood in its
// place.
inline uint16_t random_f16_scale(uint16_t random, float magnitude) {
  return f32_to_f16(magnitude * (0.75f + 0.5f / 1023.0f * static_cast<float>(random & 1023u)));
}

// The same with a random sign.
inline uint16_t random_signed_f16_scale(uint16_t random, float magnitude) {
  return static_cast<uint16_t>(random_f16_scale(random, magnitude) | (random & 0x8000u));
}

}  // namespace brass
