// The signs of grid formats: a vector whose byte 4r + g has those of values 8g … 8g + 7 of row r, for IQ2 in
// their order, for IQ3 those of values 0, 2, 4, 6 first.
#pragma once

#include "backend/cpu/isa/traits.h"

namespace brass::cpu {
namespace {

// Where the words of layout.h lie in a block.
template <class L>
constexpr uint32_t kWordAt = 0;
template <>
inline constexpr uint32_t kWordAt<layout::IQ2_XXS> = 64;
template <>
inline constexpr uint32_t kWordAt<layout::IQ3_XXS> = 128;

#ifdef __AVX512VBMI__

template <bool pairs_apart>
struct SignTable {
  alignas(64) uint8_t of[128];  // seven signs, and the eighth that makes their number even
  constexpr SignTable() : of() {
    for (int seven = 0; seven < 128; ++seven) {
      int parity = 0;
      for (int i = 0; i < 7; ++i) parity ^= seven >> i & 1;
      const int all = seven | parity << 7;
      for (int i = 0; i < 8; ++i) {
        const int to = pairs_apart ? i / 2 + 4 * (i % 2) : i;
        of[seven] = static_cast<uint8_t>(of[seven] | (all >> i & 1) << to);
      }
    }
  }
};

template <bool pairs_apart>
BRASS_INLINE I even_signs(I words) {
  static constexpr SignTable<pairs_apart> kTable{};
  const __m512i at = _mm512_set1_epi64(0x352e2720150e0700);  // bit 7g of each of two words
  return {{r_lookup128(kTable.of, _mm512_multishift_epi64_epi8(at, words.r[0]))}};
}

#else

struct ParityTable {
  alignas(16) uint8_t of[16];  // bit 7: whether the nibble has an odd number of ones
  constexpr ParityTable() : of() {
    for (int i = 0; i < 16; ++i) of[i] = static_cast<uint8_t>((i ^ i >> 1 ^ i >> 2 ^ i >> 3) << 7);
  }
};
struct ApartTable {
  alignas(16) uint8_t of[2][16];  // a low, a high nibble's signs in the order of IQ3
  constexpr ApartTable() : of() {
    for (int i = 0; i < 16; ++i) {
      const int apart = (i & 1) | (i & 2) << 3 | (i & 4) >> 1 | (i & 8) << 2;
      of[0][i] = static_cast<uint8_t>(apart);
      of[1][i] = static_cast<uint8_t>(apart << 2);
    }
  }
};

template <bool pairs_apart>
BRASS_INLINE I even_signs(I words) {
  static constexpr ParityTable kParity{};
  static constexpr ApartTable kApart{};
  const I seven = (words & set_i(0x7f)) | (shl<1>(words) & set_i(0x7f << 8)) |
                  (shl<2>(words) & set_i(0x7f << 16)) | (shl<3>(words) & set_i(0x7f << 24));
  const I nibble = set_bytes(0x0f);
  const I all = seven | shuffle(table16(kParity.of), (seven ^ shr<4>(seven)) & nibble);
  if constexpr (!pairs_apart) return all;
  return shuffle(table16(kApart.of[0]), all & nibble) | shuffle(table16(kApart.of[1]), shr<4>(all) & nibble);
}

#endif

template <class L>
BRASS_INLINE I signs(const uint8_t* block) {
  constexpr bool kPairsApart = kWordAt<L> == 128;
  return even_signs<kPairsApart>(loadu_i(block + kWordAt<L>));
}
template <>
I signs<layout::IQ3_S>(const uint8_t* block) {
  return loadu_i(block + 128);
}

}  // namespace
}  // namespace brass::cpu
