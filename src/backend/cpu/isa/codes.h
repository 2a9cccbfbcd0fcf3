// Reading the bit planes of layout.h: each family calls f(v, codes) for the eight vectors of a block.
#pragma once

#include "backend/cpu/isa/vec.h"
#include "backend/cpu/layout.h"

namespace brass::cpu {
namespace {

// Constant-trip loops that must unroll so that v is a constant in f.
template <class Fn>
BRASS_INLINE void nibble_codes(const uint8_t* p, Fn f) {
  BRASS_UNROLL
  for (int i = 0; i < 4; ++i) {
    const I both = load_i(p + 64 * i);
    f(i, both & set_bytes(0x0f));
    f(i + 4, shr<4>(both) & set_bytes(0x0f));
  }
}

// Bit v of each byte of h, moved to bit `to`.
template <int v, int to>
BRASS_INLINE I bit_at(I h) {
  if constexpr (v < to) return shl<to - v>(h) & set_bytes(1 << to);
  if constexpr (v == to) return h & set_bytes(1 << to);
  if constexpr (v > to) return shr<v - to>(h) & set_bytes(1 << to);
}
// Bits 2j, 2j + 1 of each byte of h, moved to bits `to`, `to` + 1.
template <int j, int to>
BRASS_INLINE I pair_at(I h) {
  if constexpr (2 * j < to) return shl<to - 2 * j>(h) & set_bytes(3 << to);
  if constexpr (2 * j == to) return h & set_bytes(3 << to);
  if constexpr (2 * j > to) return shr<2 * j - to>(h) & set_bytes(3 << to);
}

template <int i, class Fn>
BRASS_INLINE void nibble_bit_step(const uint8_t* p, I h, Fn f) {
  const I both = load_i(p + 64 * i);
  f(i, (both & set_bytes(0x0f)) | bit_at<i, 4>(h));
  f(i + 4, (shr<4>(both) & set_bytes(0x0f)) | bit_at<i + 4, 4>(h));
}
template <int i, class Fn>
BRASS_INLINE void nibble_pair_step(const uint8_t* p, I low, I high, Fn f) {
  const I both = load_i(p + 64 * i);
  f(i, (both & set_bytes(0x0f)) | pair_at<i, 4>(low));
  f(i + 4, (shr<4>(both) & set_bytes(0x0f)) | pair_at<i, 4>(high));
}

template <int v>
struct Index {
  static constexpr int value = v;
  constexpr operator int() const { return v; }
};
template <int i, class Fn>
BRASS_INLINE void pair_step(const uint8_t* p, Fn f) {
  const I four = load_i(p + 64 * i);
  f(Index<4 * i>{}, pair_at<0, 0>(four));
  f(Index<4 * i + 1>{}, pair_at<1, 0>(four));
  f(Index<4 * i + 2>{}, pair_at<2, 0>(four));
  f(Index<4 * i + 3>{}, pair_at<3, 0>(four));
}
// f is handed v as a type.
template <class Fn>
BRASS_INLINE void pair_codes(const uint8_t* p, Fn f) {
  pair_step<0>(p, f);
  pair_step<1>(p, f);
}

template <layout::Planes planes, class Fn>
BRASS_INLINE void for_codes(const uint8_t* p, Fn f) {
  using layout::Planes;
  if constexpr (planes == Planes::kNibbles) nibble_codes(p, f);
  if constexpr (planes == Planes::kNibblesBits) {
    const I h = load_i(p + 256);
    nibble_bit_step<0>(p, h, f);
    nibble_bit_step<1>(p, h, f);
    nibble_bit_step<2>(p, h, f);
    nibble_bit_step<3>(p, h, f);
  }
  if constexpr (planes == Planes::kNibblesPairs) {
    const I low = load_i(p + 256), high = load_i(p + 320);
    nibble_pair_step<0>(p, low, high, f);
    nibble_pair_step<1>(p, low, high, f);
    nibble_pair_step<2>(p, low, high, f);
    nibble_pair_step<3>(p, low, high, f);
  }
  if constexpr (planes == Planes::kPairs) pair_codes(p, f);
  if constexpr (planes == Planes::kPairsBits) {
    const I h = load_i(p + 128);
    pair_codes(p, [&](auto v, I low) BRASS_LAMBDA { f(v, low | bit_at<v.value, 2>(h)); });
  }
  if constexpr (planes == Planes::kBytes) {
    BRASS_UNROLL
    for (int v = 0; v < 8; ++v) f(v, load_i(p + 64 * v));
  }
}

}  // namespace
}  // namespace brass::cpu
