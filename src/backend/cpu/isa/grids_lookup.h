// Codes of the grid formats by looking up 64 bytes at once (VBMI).
//
// A packed entry of a grid is two bytes of 2-bit or 4-bit indices of levels (quant/common/grid.h), so that 64
// indices become 64 bytes of each plane, and each field of those 64 codes. As the fields of one byte are
// values in a row, such codes are transposed: byte 4r + g of vector j is value 8g + j of row r. Decode
// transposes x instead of them; unpacking transposes them.
#pragma once

#include "backend/cpu/isa/grid_signs.h"
#include "quant/iq2_xxs/grid.h"
#include "quant/iq3_s/grid.h"
#include "quant/iq3_xxs/grid.h"

namespace brass::cpu {
namespace {

// 64 indices of a grid, and a bit plane of their bits 8.
struct Indices {
  I low;
  uint64_t high = 0;
};

// table[index i], of 2^(8 + bits) entries.
template <int bits>
BRASS_INLINE I lookup(const uint8_t* table, const Indices& index) {
  const I no = {{r_lookup256(table, index.low.r[0])}};
  if constexpr (bits == 0) return no;
  return {{r_select(index.high, r_lookup256(table + 256, index.low.r[0]), no.r[0])}};
}

// 128 ± level by six bits: two values' 2-bit codes, then their signs.
struct Iq2Levels {
  alignas(64) uint8_t of[2][64];  // the first, the second value
  constexpr Iq2Levels() : of() {
    constexpr int kLevels[] = {8, 25, 43, 0};
    for (int i = 0; i < 2; ++i) {
      for (int bits = 0; bits < 64; ++bits) {
        const int level = kLevels[bits >> (2 * i) & 3];
        of[i][bits] = static_cast<uint8_t>(bits >> (4 + i) & 1 ? 128 - level : 128 + level);
      }
    }
  }
};
// The same by the low four bits: a 3-bit code, then its sign.
template <class Value>
struct Iq3Levels {
  alignas(64) uint8_t of[64];
  constexpr Iq3Levels() : of() {
    for (int bits = 0; bits < 64; ++bits) {
      const int level = Value::at(bits & 7);
      of[bits] = static_cast<uint8_t>(bits & 8 ? 128 - level : 128 + level);
    }
  }
};
struct Iq3XxsValue {
  static constexpr int at(int i) { return i < 7 ? 4 + 8 * i : 62; }
};
struct Iq3SValue {
  static constexpr int at(int i) { return 2 * i + 1; }
};

BRASS_INLINE I level(const uint8_t* table, I index) { return {{r_lookup64(table, index.r[0])}}; }
// The bits of `signs` where those of `which` are set, else the bits of `codes`.
BRASS_INLINE I with_signs(I codes, I signs, int which) {
  return {{_mm512_ternarylogic_epi32(set_bytes(which).r[0], signs.r[0], codes.r[0], 0xca)}};
}

template <int j, class Fn>
BRASS_INLINE void iq2_pair(I codes, I signs, Fn f) {
  static constexpr Iq2Levels kLevels{};
  const I both = with_signs(codes, signs, 0x30);
  f(j, level(kLevels.of[0], both));
  f(j + 1, level(kLevels.of[1], both));
}
template <class Value, int j, class Fn>
BRASS_INLINE void iq3_pair(I codes, I signs, Fn f) {
  static constexpr Iq3Levels<Value> kLevels{};
  const I both = with_signs(codes, signs, 0x88);
  f(j, level(kLevels.of, both));
  f(j + 1, level(kLevels.of, shr<4>(both)));
}

// Index vector `which` of a block: IQ2_XXS has one, IQ3 two.
template <class L>
BRASS_INLINE Indices block_indices(const uint8_t* block, int which) {
  Indices out = {loadu_i(block + 64 * which)};
  if constexpr (L::kCodes == layout::IQ3_S::kCodes) __builtin_memcpy(&out.high, block + 192 + 8 * which, 8);
  return out;
}

template <class L>
struct TransposedCodes : TraitBase<L> {
  // The 32 codes of x for transposed codes: byte 4j + g is value 8g + j.
  BRASS_INLINE void transpose_x(const int8_t* x, int8_t* out) {
    const __m256i at =
        _mm256_set_epi64x(0x1f170f071e160e06, 0x1d150d051c140c04, 0x1b130b031a120a02, 0x1911090118100800);
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), _mm256_permutexvar_epi8(at, codes));
  }
};

struct Iq2XxsCodes : TransposedCodes<layout::IQ2_XXS> {
  template <class Fn>
  BRASS_INLINE void transposed_codes(const uint8_t* block, Fn f) {
    const Indices index = block_indices<layout::IQ2_XXS>(block, 0);
    const I first = lookup<0>(kIq2XxsPlanes.plane[0], index),
            second = lookup<0>(kIq2XxsPlanes.plane[1], index);
    const I minus = signs<layout::IQ2_XXS>(block);
    iq2_pair<0>(first, shl<4>(minus), f);
    iq2_pair<2>(shr<4>(first), shl<2>(minus), f);
    iq2_pair<4>(second, minus, f);
    iq2_pair<6>(shr<4>(second), shr<2>(minus), f);
  }
};

template <class L, int bits, class Value, const auto& grid>
struct Iq3Codes : TransposedCodes<L> {
  template <class Fn>
  BRASS_INLINE void transposed_codes(const uint8_t* block, Fn f) {
    const Indices low = block_indices<L>(block, 0), high = block_indices<L>(block, 1);
    const I minus = signs<L>(block);
    iq3_pair<Value, 0>(lookup<bits>(grid.plane[0], low), shl<3>(minus), f);
    iq3_pair<Value, 2>(lookup<bits>(grid.plane[1], low), shl<2>(minus), f);
    iq3_pair<Value, 4>(lookup<bits>(grid.plane[0], high), shl<1>(minus), f);
    iq3_pair<Value, 6>(lookup<bits>(grid.plane[1], high), minus, f);
  }
};

template <class L>
struct GridCodesOf;
// clang-format off
template <> struct GridCodesOf<layout::IQ2_XXS> { using type = Iq2XxsCodes; };
template <> struct GridCodesOf<layout::IQ3_XXS> { using type = Iq3Codes<layout::IQ3_XXS, 0, Iq3XxsValue, kIq3XxsPlanes>; };
template <> struct GridCodesOf<layout::IQ3_S> { using type = Iq3Codes<layout::IQ3_S, 1, Iq3SValue, kIq3SPlanes>; };
// clang-format on
template <class L>
using GridCodes = typename GridCodesOf<L>::type;

// Codes in order from transposed ones: the 4 × 4 bytes of each lane change places.
template <class Fn>
BRASS_INLINE void in_order(const I (&u)[8], Fn f) {
  const I even = set_i(0x00ff00ff), low = set_i(0x0000ffff);
  const I odd = even ^ set_bytes(255), high = low ^ set_bytes(255);
  BRASS_UNROLL
  for (int half = 0; half < 2; ++half) {
    const I* a = u + 4 * half;
    const I p0 = (a[0] & even) | shl<8>(a[1] & even), p1 = (shr<8>(a[0]) & even) | (a[1] & odd);
    const I p2 = (a[2] & even) | shl<8>(a[3] & even), p3 = (shr<8>(a[2]) & even) | (a[3] & odd);
    f(half, (p0 & low) | shl<16>(p2));
    f(2 + half, (p1 & low) | shl<16>(p3));
    f(4 + half, shr<16>(p0) | (p2 & high));
    f(6 + half, shr<16>(p1) | (p3 & high));
  }
}

}  // namespace
}  // namespace brass::cpu
