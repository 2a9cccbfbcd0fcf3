// The traits of the grid formats (IQ2, IQ3; layout.h says how they lie) and of IQ1.
#pragma once

#include "backend/cpu/isa/signed_digits.h"
#ifdef __AVX512VBMI__
#include "backend/cpu/isa/grids_lookup.h"
#else
#include "backend/cpu/isa/grids_gather.h"
#endif

namespace brass::cpu {
namespace {

// A scale is (a + b n) d for a code n. As a and b are powers of two, or a b that is one times them exactly,
// a d + b d · n rounds once, to what the format's own order of operations gives.
struct SteppedScale {
  F start, step;  // a d, b d
  BRASS_INLINE F of(const SteppedScale& s, I n) { return fma(s.step, to_float(n), s.start); }
};
template <class Value>
BRASS_INLINE SteppedScale stepped(F d) {
  return {d * set(Value::kStart), d * set(Value::kStep)};
}
struct QuarterScale {  // d (½ + n) / 4
  static constexpr float kStart = 0.125f, kStep = 0.25f;
};
struct HalfScale {  // d (½ + n) / 2
  static constexpr float kStart = 0.25f, kStep = 0.5f;
};
struct OddScale {  // d (1 + 2n)
  static constexpr float kStart = 1.0f, kStep = 2.0f;
};
// The IQ1 scales: an eighth, for codes are 8 · (grid ± ⅛).
struct OddEighth {
  static constexpr float kStart = 0.125f, kStep = 0.25f;
};

// 16 · `vectors` nibbles, the low ones of all first.
template <int vectors>
BRASS_INLINE void unpack_nibbles(const uint8_t* nibbles, uint8_t* out) {
  BRASS_UNROLL
  for (int i = 0; i < vectors; ++i) {
    const I both = loadu_i(nibbles + 64 * i);
    store_i(out + 64 * i, both & set_bytes(0x0f));
    store_i(out + 64 * (vectors + i), shr<4>(both) & set_bytes(0x0f));
  }
}

// 4-bit scales under d.
template <class L, class Value>
struct NibbleScales : GridCodes<L> {
  struct State {
    alignas(64) uint8_t scale[128];
    SteppedScale d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = stepped<Value>(from_f16(record + 64));
    unpack_nibbles<1>(record, s.scale);
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int) {
    return SteppedScale::of(s.d, from_u8(s.scale + 16 * j));
  }
};
// 4-bit scales of halves under d, digits and signs.
template <class L>
struct Iq2Digits : TraitBase<L> {
  static constexpr bool kInState = true;
  struct State {
    alignas(64) uint8_t scale[256];
    const uint8_t* signs;
    Digits<0> digits;
    SteppedScale d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t* codes) {
    s.d = stepped<QuarterScale>(from_f16(record + 128));
    s.signs = codes + layout::kDigitBytes;
    unpack_nibbles<2>(record, s.scale);
    begin_digits(s.digits, codes);
  }
  template <class Fn>
  BRASS_INLINE void state_codes(const State& s, uint32_t j, Fn f) {
    signed_digits(s.digits, j, load_i(s.signs + 64 * j), f);
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return SteppedScale::of(s.d, from_u8(s.scale + 32 * j + 16 * half));
  }
};

// The scale is the top nibble of a row's word.
template <class L, class Value>
struct WordScales : GridCodes<L> {
  struct State {
    const uint8_t* codes;
    SteppedScale d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t* codes) {
    s.d = stepped<Value>(from_f16(record));
    s.codes = codes;
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int) {
    return SteppedScale::of(s.d, shr<28>(load_i(s.codes + L::kCodes * j + kWordAt<L>)));
  }
};

// The rows whose shift is +⅛, for which every code is two more.
#ifdef __AVX512VBMI__
using PlusRows = __mmask16;
BRASS_INLINE PlusRows plus_where_clear(I lanes) { return _mm512_testn_epi32_mask(lanes.r[0], set_i(8).r[0]); }
BRASS_INLINE PlusRows plus_where_set(const uint8_t* bits) {
  uint16_t plus;
  __builtin_memcpy(&plus, bits, 2);
  return plus;
}
BRASS_INLINE I shifted(I codes, PlusRows plus) {
  return {{_mm512_mask_add_epi32(codes.r[0], plus, codes.r[0], set_i(0x02020202).r[0])}};
}
#else
using PlusRows = I;  // what to add
BRASS_INLINE PlusRows plus_where_clear(I lanes) {
  return set_i(0x02020202) & ((shr<3>(lanes) & set_i(1)) + set_i(-1));
}
BRASS_INLINE PlusRows plus_where_set(const uint8_t* bits) {
  return set_i(0x02020202) & (zero_i() - lane_bits(bits));
}
BRASS_INLINE I shifted(I codes, PlusRows plus) { return add_bytes(codes, plus); }
#endif

struct IQ1S : TraitBase<layout::IQ1_S> {
  static constexpr bool kInState = true;
  struct State {
    alignas(64) uint8_t scale[128];
    Digits<3> digits;
    SteppedScale d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t* codes) {
    s.d = stepped<OddEighth>(from_f16(record + 64));
    unpack_nibbles<1>(record, s.scale);
    begin_digits(s.digits, codes);
  }
  // As the shift is the same for all values of a row, decode has it in the zero of unshifted codes.
  template <class Fn>
  BRASS_INLINE void unshifted_codes(const State& s, uint32_t j, Fn f) {
    block_digits(s.digits, j, f);
  }
  BRASS_INLINE I minus_zero(const State& s, uint32_t j) {  // pairs of −7 or −9
    const I minus = shr<3>(from_u8(s.scale + 16 * j));
    return set_i(static_cast<int32_t>(0xfff7fff7)) + (set_i(0x00020002) & (minus + set_i(-1)));
  }
  template <class Fn>
  BRASS_INLINE void state_codes(const State& s, uint32_t j, Fn f) {
    const PlusRows plus = plus_where_clear(from_u8(s.scale + 16 * j));
    block_digits(s.digits, j, [&](int v, I digits) BRASS_LAMBDA { f(v, shifted(digits, plus)); });
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int) {
    return SteppedScale::of(s.d, from_u8(s.scale + 16 * j) & set_i(7));
  }
};

struct IQ1M : TraitBase<layout::IQ1_M> {
  static constexpr bool kInState = true;
  struct State {
    alignas(64) uint8_t scale[256];
    const uint8_t* plus;
    Digits<3> digits;
    SteppedScale d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t* codes) {
    s.d = stepped<OddEighth>(from_f16(record + 128));
    s.plus = record + 160;
    unpack_nibbles<2>(record, s.scale);
    begin_digits(s.digits, codes);
  }
  template <class Fn>
  BRASS_INLINE void state_codes(const State& s, uint32_t j, Fn f) {
    PlusRows plus[4];
    BRASS_UNROLL
    for (int half = 0; half < 2; ++half) {
      const uint32_t g = 2 * j + static_cast<uint32_t>(half);
      plus[2 * half] = plus_where_clear(from_u8(s.scale + 16 * g));
      plus[2 * half + 1] = plus_where_set(s.plus + 2 * g);
    }
    block_digits(s.digits, j, [&](int v, I digits) BRASS_LAMBDA { f(v, shifted(digits, plus[v / 2])); });
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return SteppedScale::of(s.d, from_u8(s.scale + 32 * j + 16 * half) & set_i(7));
  }
};

// clang-format off
template <> struct TraitOf<layout::IQ2_XXS> { using type = WordScales<layout::IQ2_XXS, QuarterScale>; };
template <> struct TraitOf<layout::IQ2_XS> { using type = Iq2Digits<layout::IQ2_XS>; };
template <> struct TraitOf<layout::IQ2_S> { using type = Iq2Digits<layout::IQ2_S>; };
template <> struct TraitOf<layout::IQ3_XXS> { using type = WordScales<layout::IQ3_XXS, HalfScale>; };
template <> struct TraitOf<layout::IQ3_S> { using type = NibbleScales<layout::IQ3_S, OddScale>; };
template <> struct TraitOf<layout::IQ1_S> { using type = IQ1S; };
template <> struct TraitOf<layout::IQ1_M> { using type = IQ1M; };
// clang-format on

}  // namespace
}  // namespace brass::cpu
