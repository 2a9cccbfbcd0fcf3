// The 64 vectors of base-3 digits of a superblock (TQ1_0 in layout.h), digits 2^log2 times as large.
#pragma once

#include "backend/cpu/isa/codes.h"

namespace brass::cpu {
namespace {

#ifdef __AVX512VBMI__

// Of a byte: its first four digits as 2-bit codes, and the fifth.
template <int log2>
struct DigitTables {
  alignas(64) uint8_t four[256];
  alignas(64) uint8_t fifth[256];
  alignas(64) uint8_t level[3][64];  // of bits 2i, 2i + 1
  constexpr DigitTables() : four(), fifth(), level() {
    for (int byte = 0; byte < 256; ++byte) {
      int rest = byte;
      for (int i = 0; i < 5; ++i) {
        const int digit = 3 * rest >> 8;
        if (i < 4) four[byte] = static_cast<uint8_t>(four[byte] | digit << (2 * i));
        if (i == 4) fifth[byte] = static_cast<uint8_t>(digit << log2);
        rest = 3 * rest & 255;
      }
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

  BRASS_INLINE I four(int n, const uint8_t* pair) {
    return {{r_lookup256(kTables.four, r_load_i(pair + 64 * n))}};
  }
  BRASS_INLINE I fifth(int n, const uint8_t* pair) {
    return {{r_lookup256(kTables.fifth, r_load_i(pair + 64 * n))}};
  }
  BRASS_INLINE I level(int i, I codes) { return {{r_lookup64(kTables.level[i], codes.r[0])}}; }
};

template <int log2>
BRASS_INLINE void begin_digits(Digits<log2>& d, const uint8_t* bytes) {
  d.bytes = bytes;
  d.last = r_lookup256(d.kTables.four, r_load_i(bytes + 12 * 64));
}

// f(v, i, codes): vector v's digits are in bits 2i, 2i + 1 of the bytes of codes; i = 3: a fifth digit.
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
    f(Index<4>{}, Index<3>{}, D::fifth(0, pair));
    f(Index<5>{}, Index<0>{}, shared);
    f(Index<6>{}, Index<1>{}, shared);
    f(Index<7>{}, Index<2>{}, shared);
  } else {
    const I own = D::four(2, pair);
    f(Index<0>{}, Index<2>{}, shr<2>(shared));
    f(Index<1>{}, Index<3>{}, D::fifth(1, pair));
    f(Index<2>{}, Index<0>{}, own);
    f(Index<3>{}, Index<1>{}, own);
    f(Index<4>{}, Index<2>{}, own);
    f(Index<5>{}, Index<2>{}, shr<2>(own));
    f(Index<6>{}, Index<3>{}, D::fifth(2, pair));
    f(Index<7>{}, Index<0>{}, I{{r_shift_right(d.last, j - 1)}});
  }
}

template <int log2, class Fn>
BRASS_INLINE void block_digits(const Digits<log2>& d, uint32_t j, Fn f) {
  block_fields(d, j, [&](auto v, auto i, I codes) BRASS_LAMBDA {
    if constexpr (i.value == 3) {
      f(v.value, codes);
    } else {
      f(v.value, Digits<log2>::level(i.value, codes));
    }
  });
}

#else

template <int log2>
struct Digits {
  alignas(64) uint8_t codes[65 * 64];
};

template <int log2>
BRASS_INLINE void begin_digits(Digits<log2>& d, const uint8_t* bytes) {
  for (uint32_t n = 0; n < 13; ++n) {
    const I ones = set_bytes(255);
    I rest = load_i(bytes + 64 * n) ^ ones;  // 255 − fraction: averages round up, and are to round down
    BRASS_UNROLL
    for (uint32_t i = 0; i < 5; ++i) {
      const I three_quarters = average_bytes(rest, average_bytes(rest, ones)) ^ ones;
      const I digit = shr<6>(three_quarters) & set_bytes(3);  // ⌊3 fraction / 256⌋
      store_i(d.codes + 64 * layout::digit_vector(n, i), shl<log2>(digit));
      rest = add_bytes(add_bytes(rest, rest), add_bytes(rest, set_bytes(2)));  // of 3 · fraction mod 256
    }
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
