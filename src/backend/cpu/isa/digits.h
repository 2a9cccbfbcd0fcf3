// The 64 vectors of base-3 digits of a superblock (TQ1_0 in layout.h), digits 2^log2 times as large.
#pragma once

#include "backend/cpu/isa/codes.h"

namespace brass::cpu {
namespace {

#ifdef __AVX512VBMI__

// Of a byte's low six bits, below 192 and from 192 on: its first four digits as 2-bit codes; of bytes from 192 on also
// the fifth, in bits 6 and 7, where the others have it.
template <int log2>
struct DigitTables {
  alignas(64) uint8_t common[64];
  alignas(64) uint8_t rare[64];
  alignas(64) uint8_t rare_fifth[64];
  alignas(64) uint8_t level[3][64];  // of bits 2i, 2i + 1
  constexpr DigitTables() : common(), rare(), rare_fifth(), level() {
    for (uint32_t five = 0; five < 243; ++five) {
      const uint32_t digit[5] = {five % 3, five / 3 % 3, five / 9 % 3, five / 27 % 3, five / 81};
      const uint8_t byte = layout::digit_code(digit);
      const auto codes = static_cast<uint8_t>(digit[0] | digit[1] << 2 | digit[2] << 4 | digit[3] << 6);
      (byte < 192 ? common : rare)[byte & 63] = codes;
      if (byte >= 192) rare_fifth[byte & 63] = static_cast<uint8_t>(digit[4] << 6);
    }
    for (int i = 0; i < 3; ++i) {
      for (int code = 0; code < 64; ++code)
        level[i][code] = static_cast<uint8_t>((code >> (2 * i) & 3) << log2);
    }
  }
};

// Bytes stay packed until their block comes.
template <int log2>
struct Digits {
  static constexpr DigitTables<log2> kTables{};
  const uint8_t* bytes;
  Ri last;  // of vector 12

  BRASS_INLINE __mmask64 is_rare(Ri bytes) {
    return _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(static_cast<char>(192)));
  }
  // Digit i of four in bits 2i, 2i + 1.
  BRASS_INLINE Ri four(Ri bytes) {
    const Ri usual = r_lookup64(kTables.common, bytes);
    return _mm512_mask_permutexvar_epi8(usual, is_rare(bytes), bytes, _mm512_load_si512(kTables.rare));
  }
  BRASS_INLINE I four(int n, const uint8_t* pair) { return {{four(r_load_i(pair + 64 * n))}}; }
  // In bits 4, 5.
  BRASS_INLINE I fifth(int n, const uint8_t* pair) {
    const Ri bytes = r_load_i(pair + 64 * n);
    const Ri table = _mm512_load_si512(kTables.rare_fifth);
    return {{r_shr<2>(_mm512_mask_permutexvar_epi8(bytes, is_rare(bytes), bytes, table))}};
  }
  BRASS_INLINE I level(int i, I codes) { return {{r_lookup64(kTables.level[i], codes.r[0])}}; }
};

template <int log2>
BRASS_INLINE void begin_digits(Digits<log2>& d, const uint8_t* bytes) {
  d.bytes = bytes;
  d.last = Digits<log2>::four(r_load_i(bytes + 12 * 64));
}

// f(v, i, codes): vector v's digits are in bits 2i, 2i + 1 of the bytes of codes.
template <int log2, class Fn>
BRASS_INLINE void block_fields(const Digits<log2>& d, uint32_t j, Fn f) {
  using D = Digits<log2>;
  const uint8_t* pair = d.bytes + j / 2 * (3 * 64);
  const I shared = D::four(1, pair);
  if (j % 2 == 0) {
    const I own = D::four(0, pair);
    f(Index<0>{}, Index<0>{}, own);
    f(Index<1>{}, Index<1>{}, own);
    f(Index<2>{}, Index<2>{}, own);
    f(Index<3>{}, Index<2>{}, shr<2>(own));
    f(Index<4>{}, Index<2>{}, D::fifth(0, pair));
    f(Index<5>{}, Index<0>{}, shared);
    f(Index<6>{}, Index<1>{}, shared);
    f(Index<7>{}, Index<2>{}, shared);
  } else {
    const I own = D::four(2, pair);
    f(Index<0>{}, Index<2>{}, shr<2>(shared));
    f(Index<1>{}, Index<2>{}, D::fifth(1, pair));
    f(Index<2>{}, Index<0>{}, own);
    f(Index<3>{}, Index<1>{}, own);
    f(Index<4>{}, Index<2>{}, own);
    f(Index<5>{}, Index<2>{}, shr<2>(own));
    f(Index<6>{}, Index<2>{}, D::fifth(2, pair));
    f(Index<7>{}, Index<0>{}, I{{r_shift_right(d.last, j - 1)}});
  }
}

template <int log2, class Fn>
BRASS_INLINE void block_digits(const Digits<log2>& d, uint32_t j, Fn f) {
  block_fields(
      d, j, [&](auto v, auto i, I codes) BRASS_LAMBDA { f(v.value, Digits<log2>::level(i.value, codes)); });
}

#else

template <int log2>
struct Digits {
  alignas(64) uint8_t codes[65 * 64];
};

// 0, 1 or 2 as a is below n, 2n or not; a becomes its remainder. a < 128.
template <int n>
BRASS_INLINE I quotient(I& a) {
  const I once = more_bytes(a, set_bytes(n - 1)), twice = more_bytes(a, set_bytes(2 * n - 1)),
          step = set_bytes(n);
  a = sub_bytes(sub_bytes(a, once & step), twice & step);
  return sub_bytes(zero_i(), add_bytes(once, twice));
}

template <int log2>
BRASS_INLINE void begin_digits(Digits<log2>& d, const uint8_t* bytes) {
  for (uint32_t n = 0; n < 13; ++n) {
    const I byte = load_i(bytes + 64 * n), six = byte & set_bytes(63), two = shr<6>(byte) & set_bytes(3);
    const I is_rare = more_bytes(two, set_bytes(2));
    I rest = six;
    const I rare_fifth = quotient<17>(rest);
    I digit[5];
    digit[4] = two ^ ((two ^ rare_fifth) & is_rare);
    rest = six ^ ((six ^ (rest + set_bytes(64))) & is_rare);
    digit[3] = quotient<27>(rest);
    digit[2] = quotient<9>(rest);
    digit[1] = quotient<3>(rest);
    digit[0] = rest;
    BRASS_UNROLL
    for (uint32_t i = 0; i < 5; ++i) store_i(d.codes + 64 * layout::digit_vector(n, i), shl<log2>(digit[i]));
  }
}

template <int log2, class Fn>
BRASS_INLINE void block_digits(const Digits<log2>& d, uint32_t j, Fn f) {
  BRASS_UNROLL
  for (int v = 0; v < 8; ++v) f(v, load_i(d.codes + 64 * (8 * j + static_cast<uint32_t>(v))));
}

#endif

}  // namespace
}  // namespace brass::cpu
