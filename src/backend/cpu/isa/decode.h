// Kernel A: 1 … 4 tokens against packed panels, everything in registers. One pass over the weights.
#pragma once

#include "backend/cpu/isa/grids.h"
#include "backend/cpu/parts.h"

namespace brass::cpu {
namespace {

// Weights come from memory once: how far ahead of the codes, beyond the scale records, lines are asked for.
constexpr size_t kPrefetchAhead = 4096;

// −zero as int16 pairs against pairs of sums of 16 codes: what turns unsigned codes into canonical ones.
// half −1: both 16s.
BRASS_INLINE I minus_zero_pair(uint32_t zero_point, int half) {
  const auto z = static_cast<uint16_t>(-static_cast<int32_t>(zero_point));
  const uint32_t low = half == 1 ? 0 : z, high = half == 0 ? 0 : z;
  return set_i(static_cast<int32_t>(low | high << 16));
}

template <class Tr>
BRASS_INLINE I dot_codes(I c, I u, I x) {
  if constexpr (Tr::kWide && !kDotExact) return dot_wide(c, u, x);
  return dot(c, u, x);
}
// dot_wide subtracts the zero itself.
template <class Tr>
constexpr bool kCorrects = Tr::kZero != 0 && (kDotExact || !Tr::kWide);

// The float order of a block, the same in every kernel:
//   kPlain     t = isum · scale
//   kTwoTerms  the same, of joined sums
//   kOffset    the same, and after acc += t · x_scale: acc += offset · x_sum
//   kHalves    t = isum0 · scale0 + isum1 · scale1
//   kMins      t = isum · scale0 + msum · scale1
// Decode does not fold the scales of Q2_K and Q3_K into codes, as the tile does, but sums isum0 · s0 + isum1
// · s1 in f32: with integers s these sums stay below 2^24, so they are the tile's isum exactly, and the bits
// agree.
template <Kind kind>
BRASS_INLINE F scaled(const I (&isum)[scale_vectors(kind)], const F (&w_scale)[scale_vectors(kind)]) {
  const F first = kind == Kind::kTwoTerms ? w_scale[0] * set(1.0f / 256) : w_scale[0];
  F t = to_float(isum[0]) * first;
  if constexpr (scale_vectors(kind) == 2) t = fma(to_float(isum[1]), w_scale[1], t);
  return t;
}

// The sums of x's codes and of its second codes as one, exactly: less than 2^27.
BRASS_INLINE I join_terms(I first, I second) { return shl<8>(first) + second; }

template <class Tr>
constexpr int kSums =
    Tr::kHalves || Tr::kTwoTerms ? 2 : 1;  // integers for a block: of each half, or of each term

template <class Tr>
BRASS_INLINE F scaled_block(const typename Tr::State& state, uint32_t j, const I (&isum)[kSums<Tr>],
                            const void* sum16) {
  if constexpr (Tr::kFolds) {
    const F s[2] = {Tr::scale(state, j, 0), Tr::scale(state, j, 1)};
    F t = scaled<Kind::kHalves>(isum, s) * Tr::d(state);
    if constexpr (Tr::kTileKind == Kind::kMins) {
      t = fma(to_float(dot16(zero_i(), broadcast4(sum16), Tr::mins(state, j))), state.minus_dmin, t);
    }
    return t;
  } else if constexpr (Tr::kHalves) {
    const F s[2] = {Tr::scale(state, j, 0), Tr::scale(state, j, 1)};
    return scaled<Kind::kHalves>(isum, s);
  } else if constexpr (Tr::kTwoTerms) {
    const I joined[1] = {join_terms(isum[0], isum[1])};
    const F s[1] = {Tr::scale(state, j, 0)};
    return scaled<Kind::kTwoTerms>(joined, s);
  } else {
    const F s[1] = {Tr::scale(state, j, 0)};
    return scaled<Kind::kPlain>(isum, s);
  }
}

// isum[t][half or term] += Σ codes · x.
template <class Tr, int T>
BRASS_INLINE void add_products(const uint8_t* codes, const typename Tr::State& state, uint32_t j, uint32_t b,
                               const DecodeArgs& a, I (&isum)[T][kSums<Tr>]) {
  const auto add = [&](int v, I u) BRASS_LAMBDA {
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) {
      const size_t at = t * a.x.code_stride + 32 * b + 4 * v;
      I& c = isum[t][Tr::kHalves && v >= 4 ? 1 : 0];
      c = dot_codes<Tr>(c, u, broadcast4(a.x.codes + at));
      if constexpr (Tr::kTwoTerms) isum[t][1] = dot_codes<Tr>(isum[t][1], u, broadcast4(a.x.seconds + at));
    }
  };
  if constexpr (kShifted<Tr>) {
    Tr::unshifted_codes(state, j, add);
  } else {
    trait_codes<Tr>(state, j, codes, add);
  }
}

// The same for codes that were looked up.
template <class Tr, int T>
BRASS_INLINE void add_transposed(const uint8_t* codes, uint32_t b, const DecodeArgs& a, I (&isum)[T][1]) {
  alignas(64) int8_t x[T][32];
  for (int t = 0; t < T; ++t) Tr::transpose_x(a.x.codes + t * a.x.code_stride + 32 * b, x[t]);
  asm("" : "+m"(x));  // read back as operands: cut out of registers, every four bytes cost two shuffles
  Tr::transposed_codes(codes, [&](int i, I u) BRASS_LAMBDA {
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) isum[t][0] = dot(isum[t][0], u, broadcast4(x[t] + 4 * i));
  });
}

template <class Tr, int T>
BRASS_INLINE void begin_sums(const typename Tr::State& state, uint32_t j, uint32_t b, const DecodeArgs& a,
                             I (&isum)[T][kSums<Tr>]) {
  BRASS_UNROLL
  for (int t = 0; t < T; ++t) {
    BRASS_UNROLL
    for (int h = 0; h < kSums<Tr>; ++h) {
      const int16_t* of_term = Tr::kTwoTerms && h == 1 ? a.seconds16 : a.sum16;
      const void* sums = of_term + t * a.sum16_stride + 2 * b;
      isum[t][h] = zero_i();
      if constexpr (kShifted<Tr>) {
        isum[t][h] = dot16(zero_i(), broadcast4(sums), Tr::minus_zero(state, j));
      } else if constexpr (kCorrects<Tr>) {
        isum[t][h] = dot16(zero_i(), broadcast4(sums), minus_zero_pair(Tr::kZero, Tr::kHalves ? h : -1));
      }
    }
  }
}

template <class Tr, int T>
BRASS_INLINE void add_block(const typename Tr::State& state, uint32_t j, uint32_t b, const DecodeArgs& a,
                            const I (&isum)[T][kSums<Tr>], F (&acc)[T]) {
  BRASS_UNROLL
  for (int t = 0; t < T; ++t) {
    const size_t at = t * a.x.scale_stride + b;
    const F block = scaled_block<Tr>(state, j, isum[t], a.sum16 + t * a.sum16_stride + 2 * b);
    acc[t] = fma(block, set(a.x.scale[at]), acc[t]);
    if constexpr (Tr::kOffset) acc[t] = fma(Tr::offset(state, j), set(a.x.sum[at]), acc[t]);
  }
}

template <class Tr, int T>
BRASS_INLINE void decode_block(const uint8_t* codes, const typename Tr::State& state, uint32_t j, uint32_t b,
                               const DecodeArgs& a, F (&acc)[T]) {
  I isum[T][kSums<Tr>];
  begin_sums<Tr, T>(state, j, b, a, isum);
  if constexpr (kTransposed<Tr>) {
    add_transposed<Tr, T>(codes, b, a, isum);
  } else {
    add_products<Tr, T>(codes, state, j, b, a, isum);
  }
  add_block<Tr, T>(state, j, b, a, isum, acc);
}

BRASS_INLINE void store_rows(float* y, F acc, uint32_t rows) {
  if (rows >= kPanelRows) {
    storeu(y, acc);
  } else {
    store_part(y, acc, rows);
  }
}

template <class L, int T>
void decode(const DecodeArgs& a) {
  using Tr = Trait<L>;
  const uint32_t blocks = a.k / 32;
  const size_t scales = layout::scales_bytes<L>(blocks);
  // Lines are asked for in memory order at an even pace, ahead of both the records and the codes.
  const size_t pace = (a.panel_bytes + blocks - 1) / blocks;
  for (uint32_t row = 0; row < a.rows; row += kPanelRows) {
    const uint8_t* panel = a.panels + row / kPanelRows * a.panel_bytes;
    const uint8_t* codes = panel + scales;
    const uint8_t* ahead = panel + scales + kPrefetchAhead;
    F acc[T];
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) acc[t] = zero();
    typename Tr::State state;
    for (uint32_t b = 0; b < blocks; b += Tr::kSuper) {
      Tr::begin(state, panel + b / Tr::kSuper * Tr::kScales, codes);
      for (uint32_t j = 0; j < Tr::kSuper; ++j) {
        for (size_t line = 0; line < pace; line += 64) {
          _mm_prefetch(reinterpret_cast<const char*>(ahead + line), _MM_HINT_T0);
        }
        ahead += pace;
        decode_block<Tr, T>(codes, state, j, b + j, a, acc);
        codes += Tr::kCodes;
      }
    }
    BRASS_UNROLL
    for (int t = 0; t < T; ++t) store_rows(a.y + t * a.y_stride + row, acc[t], a.rows - row);
  }
}

}  // namespace
}  // namespace brass::cpu
