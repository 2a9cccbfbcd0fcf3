// One SSE4.2 register and what the kernels do with it: the x86-64-v2 tier. No FMA here: fma() rounds twice.
#pragma once

#include <immintrin.h>

namespace {

using Rf = __m128;
using Ri = __m128i;
constexpr int kRegs = 4;  // registers for 16 lanes
constexpr int kRegLanes = 4;

BRASS_INLINE Rf r_load(const float* p) { return _mm_load_ps(p); }
BRASS_INLINE Rf r_loadu(const float* p) { return _mm_loadu_ps(p); }
BRASS_INLINE void r_store(float* p, Rf a) { _mm_store_ps(p, a); }
BRASS_INLINE void r_storeu(float* p, Rf a) { _mm_storeu_ps(p, a); }
BRASS_INLINE Rf r_set(float a) { return _mm_set1_ps(a); }
BRASS_INLINE Rf r_add(Rf a, Rf b) { return _mm_add_ps(a, b); }
BRASS_INLINE Rf r_sub(Rf a, Rf b) { return _mm_sub_ps(a, b); }
BRASS_INLINE Rf r_mul(Rf a, Rf b) { return _mm_mul_ps(a, b); }
BRASS_INLINE Rf r_div(Rf a, Rf b) { return _mm_div_ps(a, b); }
BRASS_INLINE Rf r_fma(Rf a, Rf b, Rf c) { return _mm_add_ps(_mm_mul_ps(a, b), c); }
BRASS_INLINE Rf r_max(Rf a, Rf b) { return _mm_max_ps(a, b); }
BRASS_INLINE Rf r_min(Rf a, Rf b) { return _mm_min_ps(a, b); }
BRASS_INLINE Rf r_round(Rf a) { return _mm_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
BRASS_INLINE Rf r_if_less(Rf a, Rf b, Rf yes, Rf no) { return _mm_blendv_ps(no, yes, _mm_cmplt_ps(a, b)); }
BRASS_INLINE Rf r_float(Ri a) { return _mm_cvtepi32_ps(a); }
BRASS_INLINE Ri r_int(Rf a) { return _mm_cvtps_epi32(a); }
BRASS_INLINE Rf r_as_float(Ri a) { return _mm_castsi128_ps(a); }
BRASS_INLINE Ri r_as_int(Rf a) { return _mm_castps_si128(a); }

BRASS_INLINE Ri r_load_i(const void* p) { return _mm_load_si128(static_cast<const __m128i*>(p)); }
BRASS_INLINE Ri r_loadu_i(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
BRASS_INLINE void r_store_i(void* p, Ri a) { _mm_store_si128(static_cast<__m128i*>(p), a); }
BRASS_INLINE Ri r_set_i(int32_t a) { return _mm_set1_epi32(a); }
BRASS_INLINE Ri r_set_bytes(int8_t a) { return _mm_set1_epi8(a); }
BRASS_INLINE Ri r_table(const void* p16) { return _mm_loadu_si128(static_cast<const __m128i*>(p16)); }
BRASS_INLINE Ri r_shuffle(Ri table, Ri index) { return _mm_shuffle_epi8(table, index); }
BRASS_INLINE Ri r_and(Ri a, Ri b) { return _mm_and_si128(a, b); }
BRASS_INLINE Ri r_or(Ri a, Ri b) { return _mm_or_si128(a, b); }
BRASS_INLINE Ri r_xor(Ri a, Ri b) { return _mm_xor_si128(a, b); }
BRASS_INLINE Ri r_add_i(Ri a, Ri b) { return _mm_add_epi32(a, b); }
BRASS_INLINE Ri r_sub_i(Ri a, Ri b) { return _mm_sub_epi32(a, b); }
BRASS_INLINE Ri r_add_bytes(Ri a, Ri b) { return _mm_add_epi8(a, b); }
BRASS_INLINE Ri r_sub_bytes(Ri a, Ri b) { return _mm_sub_epi8(a, b); }
template <int n>
BRASS_INLINE Ri r_shl(Ri a) {
  return _mm_slli_epi32(a, n);
}
template <int n>
BRASS_INLINE Ri r_shr(Ri a) {
  return _mm_srli_epi32(a, n);
}
BRASS_INLINE Ri r_dot16(Ri c, Ri a, Ri b) { return _mm_add_epi32(c, _mm_madd_epi16(a, b)); }

// c + the 4-byte dot products of codes u (unsigned, ≤ 127) and x (signed, |x| ≤ 127): no pair leaves int16.
BRASS_INLINE Ri r_dot(Ri c, Ri u, Ri x) {
  return _mm_add_epi32(c, _mm_madd_epi16(_mm_maddubs_epi16(u, x), _mm_set1_epi16(1)));
}
// The same for w = u − 128 in −128 … 127: |w|·x' pairs are at most 2·128·127.
BRASS_INLINE Ri r_dot_wide(Ri c, Ri u, Ri x) {
  const Ri w = _mm_xor_si128(u, _mm_set1_epi8(-128));
  return r_dot(c, _mm_abs_epi8(w), _mm_sign_epi8(x, w));
}

BRASS_INLINE Ri r_from_u8(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(v));
}
BRASS_INLINE Ri r_from_s8(const void* p) {
  int32_t v;
  __builtin_memcpy(&v, p, 4);
  return _mm_cvtepi8_epi32(_mm_cvtsi32_si128(v));
}
BRASS_INLINE Ri r_from_u16(const void* p) {
  return _mm_cvtepu16_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
}
// Low bytes of four int32, |a| ≤ 127.
BRASS_INLINE void r_store_s8(void* p, Ri a) {
  const int32_t v = _mm_cvtsi128_si32(_mm_packs_epi16(_mm_packs_epi32(a, a), a));
  __builtin_memcpy(p, &v, 4);
}
BRASS_INLINE void r_store_u16(void* p, Ri a) {
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packus_epi32(a, a));
}

// Exact: moving the exponent by 112 also normalizes subnormals.
BRASS_INLINE Rf r_from_f16(const void* p) {
  const Ri h = r_from_u16(p);
  const Ri rest = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
  const Rf scaled =
      _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(rest, 13)), _mm_castsi128_ps(_mm_set1_epi32(0x77800000)));
  const Ri special = _mm_and_si128(_mm_cmpgt_epi32(rest, _mm_set1_epi32(0x7bff)), _mm_set1_epi32(0x7f800000));
  const Ri sign = _mm_slli_epi32(_mm_and_si128(h, _mm_set1_epi32(0x8000)), 16);
  return _mm_or_ps(scaled, _mm_castsi128_ps(_mm_or_si128(special, sign)));
}
BRASS_INLINE Rf r_from_bf16(const void* p) { return _mm_castsi128_ps(_mm_slli_epi32(r_from_u16(p), 16)); }

// To nearest even; NaN stays NaN.
BRASS_INLINE void r_to_f16(void* p, Rf a) {
  const Ri u = _mm_castps_si128(a);
  const Ri rest = _mm_and_si128(u, _mm_set1_epi32(0x7fffffff));
  const Ri odd = _mm_and_si128(_mm_srli_epi32(rest, 13), _mm_set1_epi32(1));
  const Ri normal =
      _mm_srli_epi32(_mm_sub_epi32(_mm_add_epi32(_mm_add_epi32(rest, _mm_set1_epi32(0xfff)), odd),
                                   _mm_set1_epi32(112 << 23)),
                     13);
  const Rf half = _mm_set1_ps(0.5f);  // adding it leaves the rounded count of 2^-24 in the low mantissa bits
  const Ri small =
      _mm_sub_epi32(_mm_castps_si128(_mm_add_ps(_mm_castsi128_ps(rest), half)), _mm_castps_si128(half));
  Ri h = _mm_blendv_epi8(normal, small, _mm_cmplt_epi32(rest, _mm_set1_epi32(0x38800000)));
  h = _mm_blendv_epi8(h, _mm_set1_epi32(0x7c00), _mm_cmpgt_epi32(rest, _mm_set1_epi32(0x477fefff)));
  h = _mm_blendv_epi8(h, _mm_set1_epi32(0x7e00), _mm_cmpgt_epi32(rest, _mm_set1_epi32(0x7f800000)));
  r_store_u16(p, _mm_or_si128(h, _mm_and_si128(_mm_srli_epi32(u, 16), _mm_set1_epi32(0x8000))));
}

BRASS_INLINE float r_sum(Rf a) {
  const Rf b = _mm_add_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_add_ss(b, _mm_shuffle_ps(b, b, 1)));
}
BRASS_INLINE float r_largest(Rf a) {
  const Rf b = _mm_max_ps(a, _mm_movehl_ps(a, a));
  return _mm_cvtss_f32(_mm_max_ss(b, _mm_shuffle_ps(b, b, 1)));
}

BRASS_INLINE Ri r_more_bytes(Ri a, Ri b) { return _mm_cmpgt_epi8(a, b); }
BRASS_INLINE Ri r_negate_selected(Ri a, Ri bits, Ri select) {
  const Ri mask = _mm_cmpeq_epi8(_mm_and_si128(bits, select), select);
  return _mm_sub_epi8(_mm_xor_si128(a, mask), mask);
}
BRASS_INLINE Ri r_lane_bits(const uint8_t* p, int first) {
  const int bits = p[first / 8] >> (first % 8);
  return _mm_setr_epi32(bits & 1, bits >> 1 & 1, bits >> 2 & 1, bits >> 3 & 1);
}
BRASS_INLINE Ri r_lane_nibbles(const uint8_t* p) {
  return _mm_setr_epi32(p[0] & 15, p[0] >> 4, p[1] & 15, p[1] >> 4);
}
BRASS_INLINE Ri r_gather(const uint32_t* table, Ri index) {
  alignas(16) uint32_t at[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(at), index);
  for (uint32_t& lane : at) lane = table[lane];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(at));
}
BRASS_INLINE void r_gather8(const uint64_t* table, Ri index, Ri& low, Ri& high) {
  alignas(16) uint32_t at[4], l[4], h[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(at), index);
  for (int i = 0; i < 4; ++i) {
    l[i] = static_cast<uint32_t>(table[at[i]]);
    h[i] = static_cast<uint32_t>(table[at[i]] >> 32);
  }
  low = _mm_load_si128(reinterpret_cast<const __m128i*>(l));
  high = _mm_load_si128(reinterpret_cast<const __m128i*>(h));
}

// The even, the odd floats of a and b; and back.
BRASS_INLINE Rf r_even(Rf a, Rf b) { return _mm_shuffle_ps(a, b, 0x88); }
BRASS_INLINE Rf r_odd(Rf a, Rf b) { return _mm_shuffle_ps(a, b, 0xdd); }
BRASS_INLINE Rf r_zip_low(Rf even, Rf odd) { return _mm_unpacklo_ps(even, odd); }
BRASS_INLINE Rf r_zip_high(Rf even, Rf odd) { return _mm_unpackhi_ps(even, odd); }

}  // namespace
