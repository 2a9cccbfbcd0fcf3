// The traits of the grid formats (IQ1, IQ2, IQ3): codes are looked up 16 rows at a time (layout.h says how
// they lie).
#pragma once

#include "backend/cpu/isa/traits.h"
#include "quant/common/iq1_grid.h"
#include "quant/iq2_s/grid.h"
#include "quant/iq2_xs/grid.h"
#include "quant/iq2_xxs/grid.h"
#include "quant/iq3_s/grid.h"
#include "quant/iq3_xxs/grid.h"

namespace brass::cpu {
namespace {

BRASS_INLINE uint64_t word(const uint8_t* p) {
  uint64_t w;
  __builtin_memcpy(&w, p, 8);
  return w;
}

struct SignMasks {
  uint64_t low, high;  // values 0–3, 4–7
};
BRASS_INLINE SignMasks signs8(const uint8_t* block, int k) {
  return {word(block + 16 * k), word(block + 16 * k + 8)};
}
BRASS_INLINE SignMasks signs7(const uint8_t* block, int k) {
  const uint64_t low = word(block + 8 * k), three = spread3(word(block + 32 + 6 * k));
  uint64_t odd = low ^ three;  // per row: the parity of its seven signs
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return {low, three | (odd & 0x1111111111111111u) << 3};
}

BRASS_INLINE I sixteen_bits(const uint8_t* p) {  // bit r to lane r
  uint16_t bits;
  __builtin_memcpy(&bits, p, 2);
  return lane_bits(bits);
}

// Grid magnitudes (≤ 127) with signs, + 128.
template <class Fn>
BRASS_INLINE void signed_pair(int k, I low, I high, SignMasks s, Fn f) {
  const I bias = set_bytes(128);
  f(2 * k, negate_bytes(low, s.low) ^ bias);
  f(2 * k + 1, negate_bytes(high, s.high) ^ bias);
}

template <class L>
struct Iq2Codes;
template <>
struct Iq2Codes<layout::IQ2_XXS> : TraitBase<layout::IQ2_XXS> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    BRASS_UNROLL
    for (int k = 0; k < 4; ++k) {
      I low, high;
      gather8(kIq2XxsGrid.entry, from_u8(block + 56 + 16 * k), low, high);
      signed_pair(k, low, high, signs7(block, k), f);
    }
  }
};
template <>
struct Iq2Codes<layout::IQ2_XS> : TraitBase<layout::IQ2_XS> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    BRASS_UNROLL
    for (int k = 0; k < 4; ++k) {
      I low, high;
      const I index = from_u8(block + 56 + 16 * k) | shl<8>(sixteen_bits(block + 120 + 2 * k));
      gather8(kIq2XsGrid.entry, index, low, high);
      signed_pair(k, low, high, signs7(block, k), f);
    }
  }
};
template <int k, class Fn>
BRASS_INLINE void iq2_s_step(const uint8_t* block, I high_bits, Fn f) {
  I low, high;
  gather8(kIq2SGrid.entry, from_u8(block + 64 + 16 * k) | shl<8>(shr<2 * k>(high_bits) & set_i(3)), low,
          high);
  signed_pair(k, low, high, signs8(block, k), f);
}
template <>
struct Iq2Codes<layout::IQ2_S> : TraitBase<layout::IQ2_S> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I high_bits = from_u8(block + 128);
    iq2_s_step<0>(block, high_bits, f);
    iq2_s_step<1>(block, high_bits, f);
    iq2_s_step<2>(block, high_bits, f);
    iq2_s_step<3>(block, high_bits, f);
  }
};
template <>
struct Iq2Codes<layout::IQ3_XXS> : TraitBase<layout::IQ3_XXS> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    BRASS_UNROLL
    for (int k = 0; k < 4; ++k) {
      const I low = gather4(kIq3XxsGrid.entry, from_u8(block + 56 + 32 * k));
      const I high = gather4(kIq3XxsGrid.entry, from_u8(block + 56 + 32 * k + 16));
      signed_pair(k, low, high, signs7(block, k), f);
    }
  }
};
template <>
struct Iq2Codes<layout::IQ3_S> : TraitBase<layout::IQ3_S> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    BRASS_UNROLL
    for (int k = 0; k < 4; ++k) {
      const uint8_t *index = block + 64 + 32 * k, *bits = block + 192 + 4 * k;
      const I low = gather4(kIq3SGrid.entry, from_u8(index) | shl<8>(sixteen_bits(bits)));
      const I high = gather4(kIq3SGrid.entry, from_u8(index + 16) | shl<8>(sixteen_bits(bits + 2)));
      signed_pair(k, low, high, signs8(block, k), f);
    }
  }
};

// 4-bit scales under d: what a scale is differs.
template <class L, class Value>
struct NibbleScales : Iq2Codes<L> {
  static constexpr bool kHalves = L::kTileKind == Kind::kHalves;
  static constexpr int kHalf = kHalves ? 128 : 64;  // bytes of packed scales
  struct State {
    alignas(64) uint8_t scale[2 * kHalf];
    F d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = from_f16(record + kHalf);
    BRASS_UNROLL
    for (int i = 0; i < kHalf; i += 64) {
      const I both = loadu_i(record + i);
      store_i(s.scale + i, both & set_bytes(0x0f));
      store_i(s.scale + kHalf + i, shr<4>(both) & set_bytes(0x0f));
    }
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return Value::of(s.d, to_float(from_u8(s.scale + (kHalves ? 32 * j + 16 * half : 16 * j))));
  }
};
struct QuarterScale {
  BRASS_INLINE F of(F d, F n) { return d * (set(0.5f) + n) * set(0.25f); }
};
struct HalfScale {
  BRASS_INLINE F of(F d, F n) { return d * (set(0.5f) + n) * set(0.5f); }
};
struct OddScale {
  BRASS_INLINE F of(F d, F n) { return d * (n + n + set(1.0f)); }
};
// The IQ1 scales: an eighth, for codes are 8 · (grid ± ⅛).
struct OddEighth {
  BRASS_INLINE F of(F d, F n) { return OddScale::of(d, n) * set(0.125f); }
};

// 8 grid ± 1 + 9 for the eight values k of 16 rows; minus: 1 in the lanes whose shift is −⅛.
template <class Fn>
BRASS_INLINE void iq1_pair(int k, I index, I minus, Fn f) {
  I low, high;
  gather8(kIq1Grid.entry, index, low, high);
  const I two = shl<1>(minus) | shl<9>(minus), shift = sub_bytes(set_bytes(10), two | shl<16>(two));
  BRASS_UNROLL
  for (int i = 0; i < 3; ++i) low = add_bytes(low, low), high = add_bytes(high, high);
  f(2 * k, add_bytes(low, shift));
  f(2 * k + 1, add_bytes(high, shift));
}

template <int k, class Fn>
BRASS_INLINE void iq1_s_step(const uint8_t* block, I high, Fn f) {
  iq1_pair(k, from_u8(block + 16 * k) | shl<8>(shr<3 * k>(high) & set_i(7)), shr<15>(high), f);
}
struct IQ1S : TraitBase<layout::IQ1_S> {
  struct State {
    F d;
    const uint8_t* codes;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t* codes) {
    s.d = from_f16(record);
    s.codes = codes;
  }
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I high = from_u16(block + 64);
    iq1_s_step<0>(block, high, f);
    iq1_s_step<1>(block, high, f);
    iq1_s_step<2>(block, high, f);
    iq1_s_step<3>(block, high, f);
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int) {
    return OddEighth::of(s.d, to_float(shr<12>(from_u16(s.codes + 96 * j + 64)) & set_i(7)));
  }
};

template <int k, class Fn>
BRASS_INLINE void iq1_m_step(const uint8_t* block, I nibbles, Fn f) {
  const I nibble = shr<4 * k>(nibbles);
  iq1_pair(k, from_u8(block + 16 * k) | shl<8>(nibble & set_i(7)), shr<3>(nibble) & set_i(1), f);
}
struct IQ1M : TraitBase<layout::IQ1_M> {
  struct State {
    alignas(64) float scale[16][16];
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    I words[4], d = zero_i();
    BRASS_UNROLL
    for (int i = 0; i < 4; ++i) words[i] = from_u16(record + 32 * i);
    d = shr<12>(words[0]) | shl<4>(shr<12>(words[1])) | shl<8>(shr<12>(words[2])) |
        shl<12>(shr<12>(words[3]));
    alignas(64) uint16_t halves[16];
    store_u16(halves, d);
    const F scale = from_f16(halves);
    BRASS_UNROLL
    for (int i = 0; i < 4; ++i) {
      store(s.scale[4 * i], OddEighth::of(scale, to_float(words[i] & set_i(7))));
      store(s.scale[4 * i + 1], OddEighth::of(scale, to_float(shr<3>(words[i]) & set_i(7))));
      store(s.scale[4 * i + 2], OddEighth::of(scale, to_float(shr<6>(words[i]) & set_i(7))));
      store(s.scale[4 * i + 3], OddEighth::of(scale, to_float(shr<9>(words[i]) & set_i(7))));
    }
  }
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I nibbles = from_u16(block + 64);
    iq1_m_step<0>(block, nibbles, f);
    iq1_m_step<1>(block, nibbles, f);
    iq1_m_step<2>(block, nibbles, f);
    iq1_m_step<3>(block, nibbles, f);
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) { return load(s.scale[2 * j + half]); }
};

// clang-format off
template <> struct TraitOf<layout::IQ2_XXS> { using type = NibbleScales<layout::IQ2_XXS, QuarterScale>; };
template <> struct TraitOf<layout::IQ2_XS> { using type = NibbleScales<layout::IQ2_XS, QuarterScale>; };
template <> struct TraitOf<layout::IQ2_S> { using type = NibbleScales<layout::IQ2_S, QuarterScale>; };
template <> struct TraitOf<layout::IQ3_XXS> { using type = NibbleScales<layout::IQ3_XXS, HalfScale>; };
template <> struct TraitOf<layout::IQ3_S> { using type = NibbleScales<layout::IQ3_S, OddScale>; };
template <> struct TraitOf<layout::IQ1_S> { using type = IQ1S; };
template <> struct TraitOf<layout::IQ1_M> { using type = IQ1M; };
// clang-format on

}  // namespace
}  // namespace brass::cpu
