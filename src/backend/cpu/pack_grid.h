// Packing of the grid formats (IQ2, IQ3): one row's block into its places in a panel (layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/cpu/layout.h"
#include "quant/iq2_xxs/block.h"
#include "quant/iq3_s/block.h"
#include "quant/iq3_xxs/block.h"

namespace brass::cpu {

// Where the record and the eight blocks of codes of one row go; all zero before.
struct GridPlaces {
  uint8_t* record;
  uint8_t* codes;  // of block 0
  uint32_t row;

  void d(uint32_t at, uint16_t value) const { std::memcpy(record + at + 2 * row, &value, 2); }
  // Scale g of 2 · n scales: nibbles of g and g + n share bytes.
  void scale(uint32_t g, uint32_t n, int value) const {
    record[16 * (g % n) + row] |= static_cast<uint8_t>(value << (g < n ? 0 : 4));
  }
};

inline void put_bit(uint8_t* bits, uint32_t at, uint32_t value) {
  bits[at / 8] |= static_cast<uint8_t>((value & 1) << (at % 8));
}
inline void put_word(uint8_t* words, uint32_t row, uint32_t value) {
  std::memcpy(words + 4 * row, &value, 4);
}

template <class L>
void put_row(const GridPlaces& to, const std::byte* block);

template <>
inline void put_row<layout::IQ2_XXS>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ2_XXS*>(block);
  to.d(0, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ2_XXS::kCodes;
    std::memcpy(codes + 4 * to.row, b.group[j].grid, 4);
    put_word(codes + 64, to.row, b.group[j].signs_and_scale);
  }
}

// Eight indices of a row, two for each g.
inline void put_pairs(uint8_t* codes, uint32_t row, const uint8_t* index) {
  for (uint32_t i = 0; i < 8; ++i) codes[64 * (i % 2) + 4 * row + i / 2] = index[i];
}

template <>
inline void put_row<layout::IQ3_XXS>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ3_XXS*>(block);
  to.d(0, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ3_XXS::kCodes;
    put_pairs(codes, to.row, b.qs + 8 * j);
    put_word(codes + 128, to.row, b.signs_and_scale[j]);
  }
}

template <>
inline void put_row<layout::IQ3_S>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ3_S*>(block);
  to.d(64, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ3_S::kCodes;
    put_pairs(codes, to.row, b.qs + 8 * j);
    for (uint32_t i = 0; i < 32; ++i) {  // the signs of values 0, 2, 4, 6, then of 1, 3, 5, 7
      const uint32_t g = i / 8, to_bit = i % 8 / 2 + 4 * (i % 2);
      put_bit(codes + 128, 8 * (4 * to.row + g) + to_bit,
              static_cast<uint32_t>(b.signs[4 * j + g] >> (i % 8)));
    }
    for (uint32_t i = 0; i < 8; ++i) {
      put_bit(codes + 192 + 8 * (i % 2), 4 * to.row + i / 2, static_cast<uint32_t>(b.qh[j] >> i));
    }
    to.scale(j, 4, b.scales[j / 2] >> (4 * (j % 2)) & 15);
  }
}

}  // namespace brass::cpu
