// Kernel B: many tokens. Panels are unpacked into a tile that stays in L1, then one microkernel for every
// type.
#pragma once

#include "backend/cpu/isa/decode.h"

namespace brass::cpu {
namespace {

#if defined(__AMX_INT8__)
constexpr bool kSignedTile = true;
#else
constexpr bool kSignedTile = false;
#endif

template <class L>
BRASS_INLINE void store_codes(uint8_t* out, int v, I u) {
  if constexpr (kSignedTile && L::kTileZero != 0) u = sub_bytes(u, set_bytes(L::kTileZero));
  store_i(out + 64 * v, u);
}

template <class L>
BRASS_INLINE void unpack_block(const typename Trait<L>::State& state, uint32_t j, uint32_t b,
                               const uint8_t* codes, const UnpackArgs& a) {
  using Tr = Trait<L>;
  uint8_t* out = a.codes + b * 512;
  float* scale = a.scale + b * scale_vectors(L::kTileKind) * 16;
  if constexpr (Tr::kFolds) {
    Tr::unpacked_codes(state, j, codes, [&](int v, I u) BRASS_LAMBDA { store_codes<L>(out, v, u); });
    store(scale, L::kTileKind == Kind::kMins ? Tr::d(state) : negate(Tr::d(state)));
    if constexpr (L::kTileKind == Kind::kMins) {
      store(scale + 16, state.minus_dmin);
      store_i(a.offset + b * 16, Tr::mins(state, j));
    }
  } else {
    trait_codes<Tr>(state, j, codes, [&](int v, I u) BRASS_LAMBDA { store_codes<L>(out, v, u); });
    for (int h = 0; h < (Tr::kHalves ? 2 : 1); ++h) store(scale + 16 * h, Tr::scale(state, j, h));
    if constexpr (Tr::kOffset) store(a.offset + b * 16, Tr::offset(state, j));
  }
}

template <class L>
void unpack(const UnpackArgs& a) {
  using Tr = Trait<L>;
  const uint8_t* codes = a.panel + layout::scales_bytes<L>(a.panel_blocks) + a.first * Tr::kCodes;
  const uint8_t* record = a.panel + a.first / Tr::kSuper * Tr::kScales;
  typename Tr::State state;
  for (uint32_t b = 0; b < a.blocks; b += Tr::kSuper, record += Tr::kScales) {
    Tr::begin(state, record, codes);
    for (uint32_t j = 0; j < Tr::kSuper; ++j, codes += Tr::kCodes) unpack_block<L>(state, j, b + j, codes, a);
  }
}

// Sums of 16 codes; all tiers have these 128-bit instructions.
void sum16(const int8_t* codes, uint32_t k, int16_t* out) {
  const __m128i ones = _mm_set1_epi8(1);
  for (uint32_t i = 0; i < k; i += 64, codes += 64, out += 4) {
    __m128i s[4];
    for (int j = 0; j < 4; ++j) {
      s[j] = _mm_maddubs_epi16(ones, _mm_load_si128(reinterpret_cast<const __m128i*>(codes + 16 * j)));
    }
    const __m128i pairs = _mm_hadd_epi16(_mm_hadd_epi16(s[0], s[1]), _mm_hadd_epi16(s[2], s[3]));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_hadd_epi16(pairs, pairs));
  }
}

}  // namespace
}  // namespace brass::cpu
