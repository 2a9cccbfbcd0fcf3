// One short trait per quantized type: the codes of a block, its scale(s), its offset.
//
// A trait adds to its layout
//   State, begin(state, record, codes)     `codes`: of the record's first block
//   for_codes(block, f)                    calls f(v, codes) for v = 0 … 7
//   scale(state, j, half)                  j: the block within the record
//   offset(state, j)                       kOffset
// Products are rounded exactly as the format defines them. Where the unpacked form folds the scale of 16
// values into the codes (kFolds), there are also d(state), scale as an integer-valued float,
// unpacked_codes(state, j, block, f), and mins(state, j) for kMins: see decode.h for why both forms give the
// same bits.
#pragma once

#include "backend/cpu/isa/codes.h"
#include "backend/cpu/isa/digits.h"
#include "quant/common/fp4.h"
#include "quant/common/iq4_values.h"

namespace brass::cpu {
namespace {

using layout::Kind;

template <class L>
struct TraitBase : L {
  static constexpr bool kWide = L::kZero == 128;  // codes over 127
  static constexpr bool kFolds = false;
  static constexpr bool kHalves = L::kTileKind == Kind::kHalves;  // 16 values share a scale
  static constexpr bool kOffset = L::kTileKind == Kind::kOffset;
  static constexpr bool kTwoTerms = L::kTileKind == Kind::kTwoTerms;
};

template <class L>
struct PlaneCodes : TraitBase<L> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    cpu::for_codes<L::kPlanes>(block, f);
  }
};

// Four-bit codes that are indices of 16 levels.
struct Iq4Levels {
  alignas(16) uint8_t level[16];
  constexpr Iq4Levels() : level() {
    for (int i = 0; i < 16; ++i) level[i] = static_cast<uint8_t>(kIq4Values[i] + 128);
  }
};
struct E2m1Levels {
  alignas(16) uint8_t level[16];
  constexpr E2m1Levels() : level() {
    for (int i = 0; i < 16; ++i) level[i] = static_cast<uint8_t>(kE2m1Doubled[i] + 12);
  }
};
template <class L, class Levels>
struct LevelCodes : TraitBase<L> {
  static constexpr Levels kLevels{};
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I table = table16(kLevels.level);
    nibble_codes(block, [&](int v, I index) BRASS_LAMBDA { f(v, shuffle(table, index)); });
  }
};

// d[16] for all blocks of the record, and m[16] where there are offsets.
template <class Codes>
struct OneScale : Codes {
  struct State {
    const uint8_t* record;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) { s.record = record; }
  BRASS_INLINE F scale(const State& s, uint32_t, int) { return from_f16(s.record); }
  BRASS_INLINE F offset(const State& s, uint32_t) { return from_f16(s.record + 32); }
};

template <class L>
struct KScaleMin : PlaneCodes<L> {
  struct State {
    alignas(64) uint8_t scale[128], min[128];
    F d, minus_dmin;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = from_f16(record);
    s.minus_dmin = negate(from_f16(record + 32));
    const I low = load_i(record + 64), low2 = load_i(record + 128), high = load_i(record + 192);
    const I nibble = set_bytes(0x0f);
    store_i(s.scale, (low & nibble) | (shl<4>(high) & set_bytes(0x30)));
    store_i(s.scale + 64, (low2 & nibble) | (high & set_bytes(0x30)));
    store_i(s.min, (shr<4>(low) & nibble) | (shl<2>(high) & set_bytes(0x30)));
    store_i(s.min + 64, (shr<4>(low2) & nibble) | (shr<2>(high) & set_bytes(0x30)));
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int) { return s.d * to_float(from_u8(s.scale + 16 * j)); }
  BRASS_INLINE F offset(const State& s, uint32_t j) {
    return s.minus_dmin * to_float(from_u8(s.min + 16 * j));
  }
};

// An int8 scale for each half under d.
struct Q6K : PlaneCodes<layout::Q6_K> {
  struct State {
    const uint8_t* scales;
    F d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = from_f16(record);
    s.scales = record + 32;
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return s.d * to_float(from_s8(s.scales + 32 * j + 16 * half));
  }
};

// Row r's 4 bytes of `spread` and one of the four entries of row r in `table`: byte i of the result is the
// entry number index[i] (< 4).
BRASS_INLINE I row_entry(I table, I index) {
  alignas(16) static constexpr uint8_t kRow[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  return shuffle(table, index | table16(kRow));
}

struct Q2K : PlaneCodes<layout::Q2_K> {
  static constexpr bool kFolds = true, kHalves = true;
  struct State {
    alignas(64) uint8_t scale[256], min[256];  // of group g: at 16 g
    F d, minus_dmin;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = from_f16(record + 256);
    s.minus_dmin = negate(from_f16(record + 288));
    BRASS_UNROLL
    for (int i = 0; i < 4; ++i) {
      const I both = load_i(record + 64 * i);
      store_i(s.scale + 64 * i, both & set_bytes(0x0f));
      store_i(s.min + 64 * i, shr<4>(both) & set_bytes(0x0f));
    }
  }
  BRASS_INLINE F d(const State& s) { return s.d; }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return to_float(from_u8(s.scale + 32 * j + 16 * half));
  }
  BRASS_INLINE I mins(const State& s, uint32_t j) {
    return from_u8(s.min + 32 * j) | shl<16>(from_u8(s.min + 32 * j + 16));
  }
  template <class Fn>
  BRASS_INLINE void unpacked_codes(const State& s, uint32_t j, const uint8_t* block, Fn f) {
    I table[2];
    BRASS_UNROLL
    for (int half = 0; half < 2; ++half) {
      const I sc = from_u8(s.scale + 32 * j + 16 * half);  // bytes 0, sc, 2 sc, 3 sc ≤ 45
      table[half] = (shl<8>(sc) | shl<17>(sc)) + shl<24>(sc + sc + sc);
    }
    for_codes(block, [&](int v, I code) BRASS_LAMBDA { f(v, row_entry(table[v / 4], code)); });
  }
};

struct Q3K : PlaneCodes<layout::Q3_K> {
  static constexpr bool kFolds = true, kHalves = true;
  struct State {
    alignas(64) uint8_t scale[256];  // int8, of group g: at 16 g
    F d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = from_f16(record + 192);
    const I high = loadu_i(record + 128), nibble = set_bytes(0x0f), pair = set_bytes(0x30),
            bias = set_bytes(32);
    const I low[2] = {loadu_i(record), loadu_i(record + 64)};
    store_i(s.scale, sub_bytes((low[0] & nibble) | (shl<4>(high) & pair), bias));
    store_i(s.scale + 64, sub_bytes((low[1] & nibble) | (shl<2>(high) & pair), bias));
    store_i(s.scale + 128, sub_bytes((shr<4>(low[0]) & nibble) | (high & pair), bias));
    store_i(s.scale + 192, sub_bytes((shr<4>(low[1]) & nibble) | (shr<2>(high) & pair), bias));
  }
  BRASS_INLINE F d(const State& s) { return s.d; }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return to_float(from_s8(s.scale + 32 * j + 16 * half));
  }
  // 128 − scale · (low + 4 high − 4), mod 256 in two table entries.
  template <class Fn>
  BRASS_INLINE void unpacked_codes(const State& s, uint32_t j, const uint8_t* block, Fn f) {
    I by_low[2], by_high[2];
    BRASS_UNROLL
    for (int half = 0; half < 2; ++half) {
      const I byte = set_i(0xff);
      const I minus = sub_bytes(zero_i(), from_u8(s.scale + 32 * j + 16 * half)) & byte;
      const I twice = add_bytes(minus, minus) & byte,
              four = sub_bytes(zero_i(), add_bytes(twice, twice)) & byte;
      by_low[half] = shl<8>(minus) | shl<16>(twice) | shl<24>(add_bytes(minus, twice));
      by_high[half] = (add_bytes(four, set_i(128)) & byte) | set_i(128 << 8);
    }
    const I h = load_i(block + 128);
    pair_codes(block, [&](auto v, I low) BRASS_LAMBDA {
      const I high = bit_at<v.value, 0>(h);
      f(v.value, add_bytes(row_entry(by_low[v.value / 4], low), row_entry(by_high[v.value / 4], high)));
    });
  }
};

struct IQ4XS : LevelCodes<layout::IQ4_XS, Iq4Levels> {
  struct State {
    alignas(64) uint8_t scale[128];  // int8
    F d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    s.d = from_f16(record + 96);
    const __m128i nibble = _mm_set1_epi8(0x0f), pair = _mm_set1_epi8(0x30), bias = _mm_set1_epi8(32);
    BRASS_UNROLL
    for (int j = 0; j < 8; ++j) {
      const auto* at = reinterpret_cast<const __m128i*>(record);
      const __m128i low = _mm_srli_epi16(_mm_load_si128(at + j % 4), j < 4 ? 0 : 4);
      const __m128i both = _mm_load_si128(at + 4 + j % 2);
      const __m128i high =
          j / 2 < 2 ? _mm_slli_epi16(both, 4 - j / 2 * 2) : _mm_srli_epi16(both, j / 2 * 2 - 4);
      const __m128i scale = _mm_or_si128(_mm_and_si128(low, nibble), _mm_and_si128(high, pair));
      _mm_store_si128(reinterpret_cast<__m128i*>(s.scale) + j, _mm_sub_epi8(scale, bias));
    }
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int) { return s.d * to_float(from_s8(s.scale + 16 * j)); }
};

struct Mxfp4 : LevelCodes<layout::MXFP4, E2m1Levels> {
  struct State {
    const uint8_t* record;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) { s.record = record; }
  // half_e8m0 of quant/common/fp4.h: 2^(e − 128), e < 2 being subnormal.
  BRASS_INLINE F scale(const State& s, uint32_t, int) {
    const I e = from_u8(s.record);
    const F normal = as_float(shl<23>(e + set_i(-1)));
    const F tiny = if_less(to_float(e), set(0.5f), as_float(set_i(0x00200000)), as_float(set_i(0x00400000)));
    return if_less(to_float(e), set(1.5f), tiny, normal);
  }
};

struct Nvfp4 : LevelCodes<layout::NVFP4, E2m1Levels> {
  struct State {
    alignas(64) float scale[4][16];
  };
  // half_ue4m3 of quant/common/fp4.h: the seven bits are an f16 with eight times less exponent; 0x7f is 0.
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t*) {
    BRASS_UNROLL
    for (int g = 0; g < 4; ++g) {
      const I code = from_u8(record + 16 * g) & set_i(0x7f);
      alignas(64) uint16_t halves[16];
      store_u16(halves, shl<7>(code));
      store(s.scale[g], if_less(set(126.5f), to_float(code), zero(), from_f16(halves) * set(128.0f)));
    }
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) { return load(s.scale[2 * j + half]); }
};

struct Q10 : OneScale<TraitBase<layout::Q1_0>> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I h = load_i(block);
    f(0, bit_at<0, 1>(h));
    f(1, bit_at<1, 1>(h));
    f(2, bit_at<2, 1>(h));
    f(3, bit_at<3, 1>(h));
    f(4, bit_at<4, 1>(h));
    f(5, bit_at<5, 1>(h));
    f(6, bit_at<6, 1>(h));
    f(7, bit_at<7, 1>(h));
  }
};

struct TQ10 : TraitBase<layout::TQ1_0> {
  static constexpr bool kInState = true;
  struct State {
    Digits<0> digits;
    F d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record, const uint8_t* codes) {
    s.d = from_f16(record);
    begin_digits(s.digits, codes);
  }
  template <class Fn>
  BRASS_INLINE void state_codes(const State& s, uint32_t j, Fn f) {
    block_digits(s.digits, j, f);
  }
  BRASS_INLINE F scale(const State& s, uint32_t, int) { return s.d; }
};

template <class L>
struct TraitOf;
// clang-format off
template <> struct TraitOf<layout::Q4_0> { using type = OneScale<PlaneCodes<layout::Q4_0>>; };
template <> struct TraitOf<layout::Q4_1> { using type = OneScale<PlaneCodes<layout::Q4_1>>; };
template <> struct TraitOf<layout::Q5_0> { using type = OneScale<PlaneCodes<layout::Q5_0>>; };
template <> struct TraitOf<layout::Q5_1> { using type = OneScale<PlaneCodes<layout::Q5_1>>; };
template <> struct TraitOf<layout::Q8_0> { using type = OneScale<PlaneCodes<layout::Q8_0>>; };
template <> struct TraitOf<layout::Q2_0> { using type = OneScale<PlaneCodes<layout::Q2_0>>; };
template <> struct TraitOf<layout::TQ2_0> { using type = OneScale<PlaneCodes<layout::TQ2_0>>; };
template <> struct TraitOf<layout::IQ4_NL> { using type = OneScale<LevelCodes<layout::IQ4_NL, Iq4Levels>>; };
template <> struct TraitOf<layout::Q4_K> { using type = KScaleMin<layout::Q4_K>; };
template <> struct TraitOf<layout::Q5_K> { using type = KScaleMin<layout::Q5_K>; };
template <> struct TraitOf<layout::Q6_K> { using type = Q6K; };
template <> struct TraitOf<layout::Q2_K> { using type = Q2K; };
template <> struct TraitOf<layout::Q3_K> { using type = Q3K; };
template <> struct TraitOf<layout::IQ4_XS> { using type = IQ4XS; };
template <> struct TraitOf<layout::MXFP4> { using type = Mxfp4; };
template <> struct TraitOf<layout::NVFP4> { using type = Nvfp4; };
template <> struct TraitOf<layout::Q1_0> { using type = Q10; };
template <> struct TraitOf<layout::TQ1_0> { using type = TQ10; };
// clang-format on
template <class L>
using Trait = typename TraitOf<L>::type;

// Codes that come transposed (grids_lookup.h).
template <class Tr>
constexpr bool kTransposed = requires(const int8_t* x, int8_t* out) { Tr::transpose_x(x, out); };
// Codes whose zero differs from row to row (IQ1_S).
template <class Tr>
constexpr bool kShifted = requires(const typename Tr::State& state) { Tr::minus_zero(state, 0); };

// Of transposed codes, in grids_lookup.h.
template <class Fn>
BRASS_INLINE void in_order(const I (&u)[8], Fn f);

// The packed codes of block j of a record, in order.
template <class Tr, class Fn>
BRASS_INLINE void trait_codes(const typename Tr::State& state, uint32_t j, const uint8_t* block, Fn f) {
  if constexpr (requires { Tr::kInState; }) {
    Tr::state_codes(state, j, f);
  } else if constexpr (kTransposed<Tr>) {
    I u[8];
    Tr::transposed_codes(block, [&](int i, I codes) BRASS_LAMBDA { u[i] = codes; });
    in_order(u, f);
  } else {
    Tr::for_codes(block, f);
  }
}

}  // namespace
}  // namespace brass::cpu
