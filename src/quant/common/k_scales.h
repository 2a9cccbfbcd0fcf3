// The eight 6-bit scales and eight 6-bit mins of Q4_K and Q5_K, in 12 bytes.
//
//   bytes 0–3   scale[i] in bits 0–5, bits 4–5 of scale[4 + i] in bits 6–7      (i = byte)
//   bytes 4–7   min[i]   in bits 0–5, bits 4–5 of min[4 + i]   in bits 6–7      (i = byte - 4)
//   bytes 8–11  bits 0–3 of scale[4 + i] low, bits 0–3 of min[4 + i] high       (i = byte - 8)
#pragma once

#include <cstdint>

namespace brass {

struct KScales {
  uint8_t scale[8];
  uint8_t min[8];
};

inline KScales unpack_k_scales(const uint8_t (&packed)[12]) {
  KScales out;
  for (int i = 0; i < 4; ++i) {
    out.scale[i] = packed[i] & 63;
    out.min[i] = packed[4 + i] & 63;
    out.scale[4 + i] = static_cast<uint8_t>((packed[8 + i] & 15) | ((packed[i] >> 6) << 4));
    out.min[4 + i] = static_cast<uint8_t>((packed[8 + i] >> 4) | ((packed[4 + i] >> 6) << 4));
  }
  return out;
}

// The first eight of each array.
inline void pack_k_scales(const uint8_t* scale, const uint8_t* min, uint8_t (&packed)[12]) {
  for (int i = 0; i < 4; ++i) {
    packed[i] = static_cast<uint8_t>(scale[i] | ((scale[4 + i] >> 4) << 6));
    packed[4 + i] = static_cast<uint8_t>(min[i] | ((min[4 + i] >> 4) << 6));
    packed[8 + i] = static_cast<uint8_t>((scale[4 + i] & 15) | ((min[4 + i] & 15) << 4));
  }
}

}  // namespace brass
