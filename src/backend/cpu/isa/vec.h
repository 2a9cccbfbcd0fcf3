// Sixteen lanes, whatever the width of a register: what every kernel is written on.
//
// Owns: F (16 floats), I (64 bytes, or 16 int32) and their operations. Must not know: standard headers (a
// header with inline functions would leave weak symbols, compiled for this tier, for the linker to choose).
// Invariants: everything has internal linkage; lanes are in memory order.
#pragma once

#include <cstddef>
#include <cstdint>

#define BRASS_INLINE static inline __attribute__((always_inline))
#define BRASS_LAMBDA __attribute__((always_inline))
#ifdef __clang__
#define BRASS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BRASS_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__AVX512VNNI__)
#include "backend/cpu/isa/regs_512.h"
#elif defined(__AVX2__)
#include "backend/cpu/isa/regs_256.h"
#else
#include "backend/cpu/isa/regs_128.h"
#endif

namespace {

#if defined(__AVX512VNNI__) || defined(__AVXVNNI__)
constexpr bool kDotExact = true;  // one instruction takes any unsigned code
#else
constexpr bool kDotExact = false;  // codes over 127 take r_dot_wide, which subtracts 128
#endif

struct F {
  Rf r[kRegs];
};
struct I {
  Ri r[kRegs];
};

// clang-format off
#define BRASS_EACH(type, expression) \
  type out;                          \
  BRASS_UNROLL                       \
  for (int i = 0; i < kRegs; ++i) out.r[i] = expression; \
  return out
BRASS_INLINE F load(const float* p) { BRASS_EACH(F, r_load(p + i * kRegLanes)); }
BRASS_INLINE F loadu(const float* p) { BRASS_EACH(F, r_loadu(p + i * kRegLanes)); }
BRASS_INLINE F set(float a) { BRASS_EACH(F, r_set(a)); }
BRASS_INLINE F operator+(F a, F b) { BRASS_EACH(F, r_add(a.r[i], b.r[i])); }
BRASS_INLINE F operator-(F a, F b) { BRASS_EACH(F, r_sub(a.r[i], b.r[i])); }
BRASS_INLINE F operator*(F a, F b) { BRASS_EACH(F, r_mul(a.r[i], b.r[i])); }
BRASS_INLINE F operator/(F a, F b) { BRASS_EACH(F, r_div(a.r[i], b.r[i])); }
BRASS_INLINE F fma(F a, F b, F c) { BRASS_EACH(F, r_fma(a.r[i], b.r[i], c.r[i])); }
// b where either is NaN.
BRASS_INLINE F max(F a, F b) { BRASS_EACH(F, r_max(a.r[i], b.r[i])); }
BRASS_INLINE F min(F a, F b) { BRASS_EACH(F, r_min(a.r[i], b.r[i])); }
BRASS_INLINE F round_even(F a) { BRASS_EACH(F, r_round(a.r[i])); }
BRASS_INLINE F if_less(F a, F b, F yes, F no) { BRASS_EACH(F, r_if_less(a.r[i], b.r[i], yes.r[i], no.r[i])); }
BRASS_INLINE F to_float(I a) { BRASS_EACH(F, r_float(a.r[i])); }
BRASS_INLINE I to_int(F a) { BRASS_EACH(I, r_int(a.r[i])); }
BRASS_INLINE F as_float(I a) { BRASS_EACH(F, r_as_float(a.r[i])); }
BRASS_INLINE I as_int(F a) { BRASS_EACH(I, r_as_int(a.r[i])); }
BRASS_INLINE F from_f16(const void* p) { BRASS_EACH(F, r_from_f16(static_cast<const char*>(p) + 2 * i * kRegLanes)); }
BRASS_INLINE F from_bf16(const void* p) { BRASS_EACH(F, r_from_bf16(static_cast<const char*>(p) + 2 * i * kRegLanes)); }

BRASS_INLINE I load_i(const void* p) { BRASS_EACH(I, r_load_i(static_cast<const char*>(p) + i * 4 * kRegLanes)); }
BRASS_INLINE I loadu_i(const void* p) { BRASS_EACH(I, r_loadu_i(static_cast<const char*>(p) + i * 4 * kRegLanes)); }
BRASS_INLINE I set_i(int32_t a) { BRASS_EACH(I, r_set_i(a)); }
BRASS_INLINE I set_bytes(int a) { BRASS_EACH(I, r_set_bytes(static_cast<int8_t>(a))); }
BRASS_INLINE I table16(const void* p) { BRASS_EACH(I, r_table(p)); }
// Byte i of the result: byte index[i] of the 16-byte table (index < 16).
BRASS_INLINE I shuffle(I table, I index) { BRASS_EACH(I, r_shuffle(table.r[i], index.r[i])); }
BRASS_INLINE I operator&(I a, I b) { BRASS_EACH(I, r_and(a.r[i], b.r[i])); }
BRASS_INLINE I operator|(I a, I b) { BRASS_EACH(I, r_or(a.r[i], b.r[i])); }
BRASS_INLINE I operator^(I a, I b) { BRASS_EACH(I, r_xor(a.r[i], b.r[i])); }
BRASS_INLINE I operator+(I a, I b) { BRASS_EACH(I, r_add_i(a.r[i], b.r[i])); }
BRASS_INLINE I operator-(I a, I b) { BRASS_EACH(I, r_sub_i(a.r[i], b.r[i])); }
BRASS_INLINE I add_bytes(I a, I b) { BRASS_EACH(I, r_add_bytes(a.r[i], b.r[i])); }
BRASS_INLINE I sub_bytes(I a, I b) { BRASS_EACH(I, r_sub_bytes(a.r[i], b.r[i])); }
template <int n> BRASS_INLINE I shl(I a) { BRASS_EACH(I, r_shl<n>(a.r[i])); }
template <int n> BRASS_INLINE I shr(I a) { BRASS_EACH(I, r_shr<n>(a.r[i])); }
BRASS_INLINE I dot(I c, I u, I x) { BRASS_EACH(I, r_dot(c.r[i], u.r[i], x.r[i])); }
BRASS_INLINE I dot_wide(I c, I u, I x) { BRASS_EACH(I, r_dot_wide(c.r[i], u.r[i], x.r[i])); }
// c + the dot products of int16 pairs.
BRASS_INLINE I dot16(I c, I a, I b) { BRASS_EACH(I, r_dot16(c.r[i], a.r[i], b.r[i])); }
BRASS_INLINE I from_u8(const void* p) { BRASS_EACH(I, r_from_u8(static_cast<const char*>(p) + i * kRegLanes)); }
BRASS_INLINE I from_u16(const void* p) { BRASS_EACH(I, r_from_u16(static_cast<const char*>(p) + 2 * i * kRegLanes)); }
BRASS_INLINE I from_s8(const void* p) { BRASS_EACH(I, r_from_s8(static_cast<const char*>(p) + i * kRegLanes)); }
#ifndef __AVX512VBMI__  // above, 64 bytes are looked up at once: isa/grids_lookup.h
// A byte of a, negated where `bits` has all bits of its byte of `select`.
BRASS_INLINE I negate_selected(I a, I bits, I select) { BRASS_EACH(I, r_negate_selected(a.r[i], bits.r[i], select.r[i])); }
// A byte of ones where a's is more than b's, as signed numbers.
BRASS_INLINE I more_bytes(I a, I b) { BRASS_EACH(I, r_more_bytes(a.r[i], b.r[i])); }
// Lane j: bit j.
BRASS_INLINE I lane_bits(const uint8_t* p) { BRASS_EACH(I, r_lane_bits(p, i * kRegLanes)); }
// Lane j: nibble j.
BRASS_INLINE I lane_nibbles(const uint8_t* p) { BRASS_EACH(I, r_lane_nibbles(p + i * kRegLanes / 2)); }
// Lane j: table[index[j]].
BRASS_INLINE I gather4(const uint32_t* table, I index) { BRASS_EACH(I, r_gather(table, index.r[i])); }
#endif
#undef BRASS_EACH

#define BRASS_EACH(expression) \
  BRASS_UNROLL                 \
  for (int i = 0; i < kRegs; ++i) expression
BRASS_INLINE void store(float* p, F a) { BRASS_EACH(r_store(p + i * kRegLanes, a.r[i])); }
BRASS_INLINE void storeu(float* p, F a) { BRASS_EACH(r_storeu(p + i * kRegLanes, a.r[i])); }
BRASS_INLINE void store_i(void* p, I a) { BRASS_EACH(r_store_i(static_cast<char*>(p) + i * 4 * kRegLanes, a.r[i])); }
BRASS_INLINE void store_s8(void* p, I a) { BRASS_EACH(r_store_s8(static_cast<char*>(p) + i * kRegLanes, a.r[i])); }
BRASS_INLINE void store_u16(void* p, I a) { BRASS_EACH(r_store_u16(static_cast<char*>(p) + 2 * i * kRegLanes, a.r[i])); }
#ifndef __AVX512VBMI__
// Lane j of low, high: the halves of table[index[j]].
BRASS_INLINE void gather8(const uint64_t* table, I index, I& low, I& high) { BRASS_EACH(r_gather8(table, index.r[i], low.r[i], high.r[i])); }
#endif
BRASS_INLINE void store_f16(void* p, F a) { BRASS_EACH(r_to_f16(static_cast<char*>(p) + 2 * i * kRegLanes, a.r[i])); }
#undef BRASS_EACH
// clang-format on

BRASS_INLINE F negate(F x) { return as_float(as_int(x) ^ set_i(INT32_MIN)); }
BRASS_INLINE F zero() { return set(0.0f); }
BRASS_INLINE I zero_i() { return set_i(0); }

// Four bytes at p in every lane.
BRASS_INLINE I broadcast4(const void* p) {
  int32_t four;
  __builtin_memcpy(&four, p, 4);
  return set_i(four);
}

// The same order on every call: registers pairwise, then halves of one.
BRASS_INLINE float sum(F a) {
  for (int n = kRegs / 2; n > 0; n /= 2) {
    for (int i = 0; i < n; ++i) a.r[i] = r_add(a.r[2 * i], a.r[2 * i + 1]);
  }
  return r_sum(a.r[0]);
}
BRASS_INLINE float largest(F a) {
  Rf m = a.r[0];
  for (int i = 1; i < kRegs; ++i) m = r_max(m, a.r[i]);
  return r_largest(m);
}

// 32 floats at p: the even ones and the odd ones; and back.
BRASS_INLINE void load_pairs(const float* p, F& even, F& odd) {
  BRASS_UNROLL
  for (int i = 0; i < kRegs; ++i) {
    const Rf a = r_loadu(p + 2 * i * kRegLanes), b = r_loadu(p + (2 * i + 1) * kRegLanes);
    even.r[i] = r_even(a, b);
    odd.r[i] = r_odd(a, b);
  }
}
BRASS_INLINE void store_pairs(float* p, F even, F odd) {
  BRASS_UNROLL
  for (int i = 0; i < kRegs; ++i) {
    r_storeu(p + 2 * i * kRegLanes, r_zip_low(even.r[i], odd.r[i]));
    r_storeu(p + (2 * i + 1) * kRegLanes, r_zip_high(even.r[i], odd.r[i]));
  }
}

// n < 16 floats; the other lanes hold `fill`.
BRASS_INLINE F load_part(const float* p, uint32_t n, float fill = 0.0f) {
  alignas(64) float lanes[16];
  for (int i = 0; i < 16; ++i) lanes[i] = fill;
  __builtin_memcpy(lanes, p, n * sizeof(float));
  return load(lanes);
}
BRASS_INLINE void store_part(float* p, F a, uint32_t n) {
  alignas(64) float lanes[16];
  store(lanes, a);
  __builtin_memcpy(p, lanes, n * sizeof(float));
}

}  // namespace
