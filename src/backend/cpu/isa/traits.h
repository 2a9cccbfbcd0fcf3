// One short trait per quantized type: the codes of a block, its scale(s), its offset.
//
// A trait adds to its layout: State, begin(state, record), scale(state, j, half) and offset(state, j), where
// j is the block within the record, and for_codes(block, f). Products are rounded exactly as the format
// defines them.
#pragma once

#include "backend/cpu/isa/codes.h"

namespace brass::cpu {
namespace {

template <class L>
struct PlaneCodes : L {
  static constexpr uint32_t kCodeBytes = layout::plane_bytes(L::kPlanes);
  static constexpr bool kWide = L::kZero == 128;  // codes over 127
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    cpu::for_codes<L::kPlanes>(block, f);
  }
};

// d[16], and m[16] where there are offsets.
template <class L>
struct OneScale : PlaneCodes<L> {
  struct State {
    const uint8_t* record;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record) { s.record = record; }
  BRASS_INLINE F scale(const State& s, uint32_t, int) { return from_f16(s.record); }
  BRASS_INLINE F offset(const State& s, uint32_t) { return from_f16(s.record + 32); }
};

template <class L>
struct KScaleMin : PlaneCodes<L> {
  struct State {
    alignas(64) uint8_t scale[128], min[128];
    F d, minus_dmin;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record) {
    s.d = from_f16(record);
    s.minus_dmin = as_float(as_int(from_f16(record + 32)) ^ set_i(INT32_MIN));
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

template <class L>
struct KSigned16 : PlaneCodes<L> {
  struct State {
    const uint8_t* scales;
    F d;
  };
  BRASS_INLINE void begin(State& s, const uint8_t* record) {
    s.d = from_f16(record);
    s.scales = record + 32;
  }
  BRASS_INLINE F scale(const State& s, uint32_t j, int half) {
    return s.d * to_float(from_s8(s.scales + 32 * j + 16 * half));
  }
  BRASS_INLINE F offset(const State&, uint32_t) { return zero(); }
};

template <class L>
struct Trait;
template <>
struct Trait<layout::Q4_0> : OneScale<layout::Q4_0> {};
template <>
struct Trait<layout::Q4_1> : OneScale<layout::Q4_1> {};
template <>
struct Trait<layout::Q5_0> : OneScale<layout::Q5_0> {};
template <>
struct Trait<layout::Q5_1> : OneScale<layout::Q5_1> {};
template <>
struct Trait<layout::Q8_0> : OneScale<layout::Q8_0> {};
template <>
struct Trait<layout::Q4_K> : KScaleMin<layout::Q4_K> {};
template <>
struct Trait<layout::Q5_K> : KScaleMin<layout::Q5_K> {};
template <>
struct Trait<layout::Q6_K> : KSigned16<layout::Q6_K> {};

}  // namespace
}  // namespace brass::cpu
