// Codes of the grid formats where bytes cannot be looked up by the dozen: one index after the other.
#pragma once

#include "backend/cpu/isa/grid_signs.h"
#include "quant/iq2_xxs/grid.h"
#include "quant/iq3_s/grid.h"
#include "quant/iq3_xxs/grid.h"

namespace brass::cpu {
namespace {

// Byte g of each lane.
template <int g>
BRASS_INLINE I byte_of(I bytes) {
  return shr<8 * g>(bytes) & set_i(255);
}
// Bit g of each lane, as bit `to`.
template <int g, int to>
BRASS_INLINE I bit_of(I nibbles) {
  return shl<to>(shr<g>(nibbles) & set_i(1));
}

// Byte g of each lane, four times.
struct SpreadTable {
  alignas(16) uint8_t from[4][16];
  constexpr SpreadTable() : from() {
    for (int g = 0; g < 4; ++g) {
      for (int i = 0; i < 16; ++i) from[g][i] = static_cast<uint8_t>(i / 4 * 4 + g);
    }
  }
};

// Which bit has the sign of each of four values (grid_signs.h).
struct Iq2Select {
  static constexpr int32_t kLow = 0x08040201, kHigh = static_cast<int32_t>(0x80402010u);
};
struct Iq3Select {
  static constexpr int32_t kLow = 0x20021001, kHigh = static_cast<int32_t>(0x80084004u);
};

// Magnitudes (≤ 127) of values 8g … 8g + 3 and of the next four, with signs, + 128.
template <class Select, int g, class Fn>
BRASS_INLINE void signed_pair(I low, I high, I signs, Fn f) {
  static constexpr SpreadTable kSpread{};
  const I bias = set_bytes(128), bits = shuffle(signs, table16(kSpread.from[g]));
  f(2 * g, negate_selected(low, bits, set_i(Select::kLow)) ^ bias);
  f(2 * g + 1, negate_selected(high, bits, set_i(Select::kHigh)) ^ bias);
}

template <class Fn>
BRASS_INLINE void for_groups(Fn f) {
  f(Index<0>{});
  f(Index<1>{});
  f(Index<2>{});
  f(Index<3>{});
}

// index(g): of values 8g … 8g + 7, in lane r that of row r.
template <class L, class Index8, class Fn>
BRASS_INLINE void eight_at_once(const uint64_t* grid, const uint8_t* block, Index8 index, Fn f) {
  const I minus = signs<L>(block);
  for_groups([&](auto g) BRASS_LAMBDA {
    I low, high;
    gather8(grid, index(g), low, high);
    signed_pair<Iq2Select, g.value>(low, high, minus, f);
  });
}

template <class L>
struct GridCodes;
template <>
struct GridCodes<layout::IQ2_XXS> : TraitBase<layout::IQ2_XXS> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I low = load_i(block);
    eight_at_once<layout::IQ2_XXS>(
        kIq2XxsGrid.entry, block, [&](auto g) BRASS_LAMBDA { return byte_of<g.value>(low); }, f);
  }
};
template <>
struct GridCodes<layout::IQ3_XXS> : TraitBase<layout::IQ3_XXS> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I first = load_i(block), second = load_i(block + 64), minus = signs<layout::IQ3_XXS>(block);
    for_groups([&](auto g) BRASS_LAMBDA {
      signed_pair<Iq3Select, g.value>(gather4(kIq3XxsGrid.entry, byte_of<g.value>(first)),
                                      gather4(kIq3XxsGrid.entry, byte_of<g.value>(second)), minus, f);
    });
  }
};
template <>
struct GridCodes<layout::IQ3_S> : TraitBase<layout::IQ3_S> {
  template <class Fn>
  BRASS_INLINE void for_codes(const uint8_t* block, Fn f) {
    const I first = loadu_i(block), second = loadu_i(block + 64), minus = signs<layout::IQ3_S>(block);
    const I first_high = lane_nibbles(block + 192), second_high = lane_nibbles(block + 200);
    for_groups([&](auto g) BRASS_LAMBDA {
      const I low = byte_of<g.value>(first) | bit_of<g.value, 8>(first_high);
      const I high = byte_of<g.value>(second) | bit_of<g.value, 8>(second_high);
      signed_pair<Iq3Select, g.value>(gather4(kIq3SGrid.entry, low), gather4(kIq3SGrid.entry, high), minus,
                                      f);
    });
  }
};

}  // namespace
}  // namespace brass::cpu
