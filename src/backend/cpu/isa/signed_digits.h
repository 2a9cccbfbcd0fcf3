// Codes of IQ2_XS and IQ2_S: base-3 digits that are levels, and signs (layout.h), as 128 ± level.
#pragma once

#include "backend/cpu/isa/digits.h"

namespace brass::cpu {
namespace {

constexpr int iq2_level(int digit) { return digit == 0 ? 8 : digit == 1 ? 25 : digit == 2 ? 43 : 0; }

#ifdef __AVX512VBMI__

// By six bits: a digit in bits 2 field and the next, a sign in bit `sign`.
template <int field, int sign>
struct SignedLevels {
  alignas(64) uint8_t of[64];
  constexpr SignedLevels() : of() {
    for (int bits = 0; bits < 64; ++bits) {
      const int level = iq2_level(bits >> (2 * field) & 3);
      of[bits] = static_cast<uint8_t>(bits >> sign & 1 ? 128 - level : 128 + level);
    }
  }
};

// How far the signs are shifted right so that vector v's lies among the low six bits and not on the digit.
constexpr int sign_shift(int v, int field) {
  constexpr int kShifts[] = {0, 4, 6, -4, -1};
  for (const int shift : kShifts) {
    const int bit = v - shift;
    if (bit >= 0 && bit < 6 && bit / 2 != field) return shift;
  }
  return 0;
}

template <int n>
BRASS_INLINE I shifted_right(I a) {
  if constexpr (n < 0) return shl<-n>(a);
  if constexpr (n == 0) return a;
  if constexpr (n > 0) return shr<n>(a);
}

template <class Fn>
BRASS_INLINE void signed_digits(const Digits<0>& d, uint32_t j, I signs, Fn f) {
  block_fields(d, j, [&](auto v, auto i, I codes) BRASS_LAMBDA {
    constexpr int kField = i.value, kShift = sign_shift(v.value, kField);
    constexpr int kSign = v.value - kShift;
    static_assert(kSign >= 0 && kSign < 6 && kSign / 2 != kField);
    static constexpr SignedLevels<kField, kSign> kLevels{};
    const I both = {{_mm512_ternarylogic_epi32(set_bytes(1 << kSign).r[0], shifted_right<kShift>(signs).r[0],
                                               codes.r[0], 0xca)}};
    f(v.value, I{{r_lookup64(kLevels.of, both.r[0])}});
  });
}

#else

struct SignedLevels {
  alignas(16) uint8_t of[16];
  constexpr SignedLevels() : of() {
    for (int i = 0; i < 8; ++i) {
      const int level = iq2_level(i & 3);
      of[i] = static_cast<uint8_t>(i & 4 ? 128 - level : 128 + level);
    }
  }
};

template <class Fn>
BRASS_INLINE void signed_digits(const Digits<0>& d, uint32_t j, I signs, Fn f) {
  static constexpr SignedLevels kLevels{};
  const I table = table16(kLevels.of);
  const uint8_t* digits = d.codes + 512 * j;
  const auto one = [&](auto v) BRASS_LAMBDA {
    f(v.value, shuffle(table, load_i(digits + 64 * v.value) | bit_at<v.value, 2>(signs)));
  };
  one(Index<0>{});
  one(Index<1>{});
  one(Index<2>{});
  one(Index<3>{});
  one(Index<4>{});
  one(Index<5>{});
  one(Index<6>{});
  one(Index<7>{});
}

#endif

}  // namespace
}  // namespace brass::cpu
