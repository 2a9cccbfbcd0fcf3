// One AVX-512 register and what the kernels do with it: the avx512-vnni tier and all above it.
#pragma once

#include <immintrin.h>

namespace {

using Rf = __m512;
using Ri = __m512i;
constexpr int kRegs = 1;  // registers for 16 lanes
constexpr int kRegLanes = 16;

BRASS_INLINE Rf r_load(const float* p) { return _mm512_load_ps(p); }
BRASS_INLINE Rf r_loadu(const float* p) { return _mm512_loadu_ps(p); }
BRASS_INLINE void r_store(float* p, Rf a) { _mm512_store_ps(p, a); }
BRASS_INLINE void r_storeu(float* p, Rf a) { _mm512_storeu_ps(p, a); }
BRASS_INLINE Rf r_set(float a) { return _mm512_set1_ps(a); }
BRASS_INLINE Rf r_add(Rf a, Rf b) { return _mm512_add_ps(a, b); }
BRASS_INLINE Rf r_sub(Rf a, Rf b) { return _mm512_sub_ps(a, b); }
BRASS_INLINE Rf r_mul(Rf a, Rf b) { return _mm512_mul_ps(a, b); }
BRASS_INLINE Rf r_div(Rf a, Rf b) { return _mm512_div_ps(a, b); }
BRASS_INLINE Rf r_fma(Rf a, Rf b, Rf c) { return _mm512_fmadd_ps(a, b, c); }
BRASS_INLINE Rf r_max(Rf a, Rf b) { return _mm512_max_ps(a, b); }
BRASS_INLINE Rf r_min(Rf a, Rf b) { return _mm512_min_ps(a, b); }
BRASS_INLINE Rf r_round(Rf a) {
  return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
BRASS_INLINE Rf r_if_less(Rf a, Rf b, Rf yes, Rf no) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}
BRASS_INLINE Rf r_float(Ri a) { return _mm512_cvtepi32_ps(a); }
BRASS_INLINE Ri r_int(Rf a) { return _mm512_cvtps_epi32(a); }
BRASS_INLINE Rf r_as_float(Ri a) { return _mm512_castsi512_ps(a); }
BRASS_INLINE Ri r_as_int(Rf a) { return _mm512_castps_si512(a); }

BRASS_INLINE Ri r_load_i(const void* p) { return _mm512_load_si512(p); }
BRASS_INLINE Ri r_loadu_i(const void* p) { return _mm512_loadu_si512(p); }
BRASS_INLINE void r_store_i(void* p, Ri a) { _mm512_store_si512(p, a); }
BRASS_INLINE Ri r_set_i(int32_t a) { return _mm512_set1_epi32(a); }
BRASS_INLINE Ri r_set_bytes(int8_t a) { return _mm512_set1_epi8(a); }
BRASS_INLINE Ri r_table(const void* p16) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(p16)));
}
BRASS_INLINE Ri r_shuffle(Ri table, Ri index) { return _mm512_shuffle_epi8(table, index); }
BRASS_INLINE Ri r_and(Ri a, Ri b) { return _mm512_and_si512(a, b); }
BRASS_INLINE Ri r_or(Ri a, Ri b) { return _mm512_or_si512(a, b); }
BRASS_INLINE Ri r_xor(Ri a, Ri b) { return _mm512_xor_si512(a, b); }
BRASS_INLINE Ri r_add_i(Ri a, Ri b) { return _mm512_add_epi32(a, b); }
BRASS_INLINE Ri r_sub_i(Ri a, Ri b) { return _mm512_sub_epi32(a, b); }
BRASS_INLINE Ri r_add_bytes(Ri a, Ri b) { return _mm512_add_epi8(a, b); }
BRASS_INLINE Ri r_sub_bytes(Ri a, Ri b) { return _mm512_sub_epi8(a, b); }
BRASS_INLINE Ri r_shift_right(Ri a, uint32_t n) {
  return _mm512_srl_epi32(a, _mm_cvtsi32_si128(static_cast<int>(n)));
}
template <int n>
BRASS_INLINE Ri r_shl(Ri a) {
  return _mm512_slli_epi32(a, n);
}
template <int n>
BRASS_INLINE Ri r_shr(Ri a) {
  return _mm512_srli_epi32(a, n);
}

// c + the 4-byte dot products of codes u (unsigned) and x (signed).
BRASS_INLINE Ri r_dot(Ri c, Ri u, Ri x) { return _mm512_dpbusd_epi32(c, u, x); }
BRASS_INLINE Ri r_dot_wide(Ri c, Ri u, Ri x) { return r_dot(c, u, x); }
BRASS_INLINE Ri r_dot16(Ri c, Ri a, Ri b) { return _mm512_dpwssd_epi32(c, a, b); }

BRASS_INLINE Ri r_from_u8(const void* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
BRASS_INLINE Ri r_from_s8(const void* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p)));
}
BRASS_INLINE Ri r_from_u16(const void* p) {
  return _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
// Low bytes of sixteen int32.
BRASS_INLINE void r_store_s8(void* p, Ri a) {
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a));
}
BRASS_INLINE void r_store_u16(void* p, Ri a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a));
}
BRASS_INLINE Rf r_from_f16(const void* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
}
BRASS_INLINE Rf r_from_bf16(const void* p) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(r_from_u16(p), 16));
}
BRASS_INLINE void r_to_f16(void* p, Rf a) {
  _mm256_storeu_si256(static_cast<__m256i*>(p),
                      _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

BRASS_INLINE float r_sum(Rf a) {
  const __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  const __m128 d = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(d, _mm_shuffle_ps(d, d, 1)));
}
BRASS_INLINE float r_largest(Rf a) {
  const __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
  const __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  const __m128 d = _mm_max_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_max_ss(d, _mm_shuffle_ps(d, d, 1)));
}

BRASS_INLINE Ri r_select(__mmask64 which, Ri yes, Ri no) { return _mm512_mask_blend_epi8(which, no, yes); }

// Byte i of the result: table[index[i]], of whose bits only as many as the table needs are looked at.
BRASS_INLINE Ri r_lookup64(const uint8_t* table, Ri index) {
  return _mm512_permutexvar_epi8(index, _mm512_load_si512(table));
}
BRASS_INLINE Ri r_lookup128(const uint8_t* table, Ri index) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(table), index, _mm512_load_si512(table + 64));
}
BRASS_INLINE Ri r_lookup256(const uint8_t* table, Ri index) {
  return r_select(_mm512_movepi8_mask(index), r_lookup128(table + 128, index), r_lookup128(table, index));
}

// The even, the odd floats of a and b; and back.
BRASS_INLINE Rf r_even(Rf a, Rf b) {
  const __m512i at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  return _mm512_permutex2var_ps(a, at, b);
}
BRASS_INLINE Rf r_odd(Rf a, Rf b) {
  const __m512i at = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  return _mm512_permutex2var_ps(a, at, b);
}
BRASS_INLINE Rf r_zip_low(Rf even, Rf odd) {
  const __m512i at = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return _mm512_permutex2var_ps(even, at, odd);
}
BRASS_INLINE Rf r_zip_high(Rf even, Rf odd) {
  const __m512i at = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return _mm512_permutex2var_ps(even, at, odd);
}

}  // namespace
