// One AVX2 register and what the kernels do with it: the avx2 and avx-vnni tiers.
#pragma once

#include <immintrin.h>

namespace {

using Rf = __m256;
using Ri = __m256i;
constexpr int kRegs = 2;  // registers for 16 lanes
constexpr int kRegLanes = 8;

BRASS_INLINE Rf r_load(const float* p) { return _mm256_load_ps(p); }
BRASS_INLINE Rf r_loadu(const float* p) { return _mm256_loadu_ps(p); }
BRASS_INLINE void r_store(float* p, Rf a) { _mm256_store_ps(p, a); }
BRASS_INLINE void r_storeu(float* p, Rf a) { _mm256_storeu_ps(p, a); }
BRASS_INLINE Rf r_set(float a) { return _mm256_set1_ps(a); }
BRASS_INLINE Rf r_add(Rf a, Rf b) { return _mm256_add_ps(a, b); }
BRASS_INLINE Rf r_sub(Rf a, Rf b) { return _mm256_sub_ps(a, b); }
BRASS_INLINE Rf r_mul(Rf a, Rf b) { return _mm256_mul_ps(a, b); }
BRASS_INLINE Rf r_div(Rf a, Rf b) { return _mm256_div_ps(a, b); }
BRASS_INLINE Rf r_fma(Rf a, Rf b, Rf c) { return _mm256_fmadd_ps(a, b, c); }
BRASS_INLINE Rf r_max(Rf a, Rf b) { return _mm256_max_ps(a, b); }
BRASS_INLINE Rf r_min(Rf a, Rf b) { return _mm256_min_ps(a, b); }
BRASS_INLINE Rf r_round(Rf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
BRASS_INLINE Rf r_if_less(Rf a, Rf b, Rf yes, Rf no) {
  return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}
BRASS_INLINE Rf r_float(Ri a) { return _mm256_cvtepi32_ps(a); }
BRASS_INLINE Ri r_int(Rf a) { return _mm256_cvtps_epi32(a); }
BRASS_INLINE Rf r_as_float(Ri a) { return _mm256_castsi256_ps(a); }
BRASS_INLINE Ri r_as_int(Rf a) { return _mm256_castps_si256(a); }

BRASS_INLINE Ri r_load_i(const void* p) { return _mm256_load_si256(static_cast<const __m256i*>(p)); }
BRASS_INLINE Ri r_loadu_i(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
BRASS_INLINE void r_store_i(void* p, Ri a) { _mm256_store_si256(static_cast<__m256i*>(p), a); }
BRASS_INLINE Ri r_set_i(int32_t a) { return _mm256_set1_epi32(a); }
BRASS_INLINE Ri r_set_bytes(int8_t a) { return _mm256_set1_epi8(a); }
BRASS_INLINE Ri r_table(const void* p16) {
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(p16)));
}
BRASS_INLINE Ri r_shuffle(Ri table, Ri index) { return _mm256_shuffle_epi8(table, index); }
BRASS_INLINE Ri r_and(Ri a, Ri b) { return _mm256_and_si256(a, b); }
BRASS_INLINE Ri r_or(Ri a, Ri b) { return _mm256_or_si256(a, b); }
BRASS_INLINE Ri r_xor(Ri a, Ri b) { return _mm256_xor_si256(a, b); }
BRASS_INLINE Ri r_add_i(Ri a, Ri b) { return _mm256_add_epi32(a, b); }
BRASS_INLINE Ri r_sub_i(Ri a, Ri b) { return _mm256_sub_epi32(a, b); }
BRASS_INLINE Ri r_add_bytes(Ri a, Ri b) { return _mm256_add_epi8(a, b); }
BRASS_INLINE Ri r_sub_bytes(Ri a, Ri b) { return _mm256_sub_epi8(a, b); }
template <int n>
BRASS_INLINE Ri r_shl(Ri a) {
  return _mm256_slli_epi32(a, n);
}
template <int n>
BRASS_INLINE Ri r_shr(Ri a) {
  return _mm256_srli_epi32(a, n);
}

#ifdef __AVXVNNI__
// c + the 4-byte dot products of codes u (unsigned) and x (signed).
BRASS_INLINE Ri r_dot(Ri c, Ri u, Ri x) { return _mm256_dpbusd_avx_epi32(c, u, x); }
BRASS_INLINE Ri r_dot_wide(Ri c, Ri u, Ri x) { return r_dot(c, u, x); }
BRASS_INLINE Ri r_dot16(Ri c, Ri a, Ri b) { return _mm256_dpwssd_avx_epi32(c, a, b); }
#else
// c + the 4-byte dot products of codes u (unsigned, ≤ 127) and x (signed, |x| ≤ 127): no pair leaves int16.
BRASS_INLINE Ri r_dot(Ri c, Ri u, Ri x) {
  return _mm256_add_epi32(c, _mm256_madd_epi16(_mm256_maddubs_epi16(u, x), _mm256_set1_epi16(1)));
}
// The same for w = u − 128 in −128 … 127: |w|·x' pairs are at most 2·128·127.
BRASS_INLINE Ri r_dot_wide(Ri c, Ri u, Ri x) {
  const Ri w = _mm256_xor_si256(u, _mm256_set1_epi8(-128));
  return r_dot(c, _mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
}
BRASS_INLINE Ri r_dot16(Ri c, Ri a, Ri b) { return _mm256_add_epi32(c, _mm256_madd_epi16(a, b)); }
#endif

BRASS_INLINE Ri r_from_u8(const void* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
}
BRASS_INLINE Ri r_from_s8(const void* p) {
  return _mm256_cvtepi8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(p)));
}
BRASS_INLINE Ri r_from_u16(const void* p) {
  return _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
// Low bytes of eight int32, |a| ≤ 127.
BRASS_INLINE void r_store_s8(void* p, Ri a) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
  _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}
BRASS_INLINE void r_store_u16(void* p, Ri a) {
  _mm_storeu_si128(static_cast<__m128i*>(p),
                   _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)));
}
BRASS_INLINE Rf r_from_f16(const void* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
BRASS_INLINE Rf r_from_bf16(const void* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(r_from_u16(p), 16));
}
BRASS_INLINE void r_to_f16(void* p, Rf a) {
  _mm_storeu_si128(static_cast<__m128i*>(p),
                   _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

BRASS_INLINE float r_sum(Rf a) {
  const __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}
BRASS_INLINE float r_largest(Rf a) {
  const __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 c = _mm_max_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_max_ss(c, _mm_shuffle_ps(c, c, 1)));
}

BRASS_INLINE Ri r_more_bytes(Ri a, Ri b) { return _mm256_cmpgt_epi8(a, b); }
BRASS_INLINE Ri r_negate_selected(Ri a, Ri bits, Ri select) {
  const Ri mask = _mm256_cmpeq_epi8(_mm256_and_si256(bits, select), select);
  return _mm256_sub_epi8(_mm256_xor_si256(a, mask), mask);
}
BRASS_INLINE Ri r_lane_bits(const uint8_t* p, int first) {
  const __m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(p[first / 8]), at), _mm256_set1_epi32(1));
}
BRASS_INLINE Ri r_lane_nibbles(const uint8_t* p) {
  int32_t nibbles;
  __builtin_memcpy(&nibbles, p, 4);
  const __m256i at = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  return _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32(nibbles), at), _mm256_set1_epi32(15));
}
BRASS_INLINE Ri r_gather(const uint32_t* table, Ri index) {
  return _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), index, 4);
}
BRASS_INLINE void r_gather8(const uint64_t* table, Ri index, Ri& low, Ri& high) {
  low = _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), index, 8);
  high = _mm256_i32gather_epi32(reinterpret_cast<const int*>(table) + 1, index, 8);
}

// The even, the odd floats of a and b; and back.
BRASS_INLINE Rf r_in_order(Rf mixed) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(mixed), 0xd8));
}
BRASS_INLINE Rf r_even(Rf a, Rf b) { return r_in_order(_mm256_shuffle_ps(a, b, 0x88)); }
BRASS_INLINE Rf r_odd(Rf a, Rf b) { return r_in_order(_mm256_shuffle_ps(a, b, 0xdd)); }
BRASS_INLINE Rf r_zip_low(Rf even, Rf odd) {
  return _mm256_permute2f128_ps(_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd), 0x20);
}
BRASS_INLINE Rf r_zip_high(Rf even, Rf odd) {
  return _mm256_permute2f128_ps(_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd), 0x31);
}

}  // namespace
