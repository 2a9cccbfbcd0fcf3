// Packing of the grid formats (IQ1, IQ2, IQ3): one row's block into its places in a panel (layout.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backend/cpu/layout.h"
#include "quant/iq1_m/block.h"
#include "quant/iq1_s/block.h"
#include "quant/iq2_s/block.h"
#include "quant/iq2_xs/block.h"
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
inline void put_nibble(uint8_t* nibbles, uint32_t at, uint32_t value) {
  nibbles[at / 2] |= static_cast<uint8_t>((value & 15) << (4 * (at % 2)));
}
inline void put_signs8(uint8_t* block, uint32_t k, uint32_t row, uint32_t signs) {
  put_nibble(block + 16 * k, row, signs);
  put_nibble(block + 16 * k + 8, row, signs >> 4);
}
inline void put_signs7(uint8_t* block, uint32_t k, uint32_t row, uint32_t signs) {
  put_nibble(block + 8 * k, row, signs);
  for (uint32_t i = 0; i < 3; ++i) put_bit(block + 32 + 6 * k, 3 * row + i, signs >> (4 + i));
}

template <class L>
void put_row(const GridPlaces& to, const std::byte* block);

template <>
inline void put_row<layout::IQ2_XXS>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ2_XXS*>(block);
  to.d(64, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ2_XXS::kCodes;
    for (uint32_t k = 0; k < 4; ++k) {
      codes[56 + 16 * k + to.row] = b.group[j].grid[k];
      put_signs7(codes, k, to.row, b.group[j].signs_and_scale >> (7 * k));
    }
    to.scale(j, 4, static_cast<int>(b.group[j].signs_and_scale >> 28));
  }
}

template <>
inline void put_row<layout::IQ2_XS>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ2_XS*>(block);
  to.d(128, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ2_XS::kCodes;
    for (uint32_t k = 0; k < 4; ++k) {
      const uint16_t both = b.qs[4 * j + k];
      codes[56 + 16 * k + to.row] = static_cast<uint8_t>(both);
      put_bit(codes + 120 + 2 * k, to.row, both >> 8);
      put_signs7(codes, k, to.row, both >> 9);
    }
    to.scale(2 * j, 8, b.scales[j] & 15);
    to.scale(2 * j + 1, 8, b.scales[j] >> 4);
  }
}

template <>
inline void put_row<layout::IQ2_S>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ2_S*>(block);
  to.d(128, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ2_S::kCodes;
    codes[128 + to.row] = b.qh[j];
    for (uint32_t k = 0; k < 4; ++k) {
      codes[64 + 16 * k + to.row] = b.qs[4 * j + k];
      put_signs8(codes, k, to.row, b.signs[4 * j + k]);
    }
    to.scale(2 * j, 8, b.scales[j] & 15);
    to.scale(2 * j + 1, 8, b.scales[j] >> 4);
  }
}

template <>
inline void put_row<layout::IQ3_XXS>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ3_XXS*>(block);
  to.d(64, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ3_XXS::kCodes;
    for (uint32_t i = 0; i < 8; ++i) codes[56 + 16 * i + to.row] = b.qs[8 * j + i];
    for (uint32_t k = 0; k < 4; ++k) put_signs7(codes, k, to.row, b.signs_and_scale[j] >> (7 * k));
    to.scale(j, 4, static_cast<int>(b.signs_and_scale[j] >> 28));
  }
}

template <>
inline void put_row<layout::IQ3_S>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ3_S*>(block);
  to.d(64, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ3_S::kCodes;
    for (uint32_t i = 0; i < 8; ++i) {
      codes[64 + 16 * i + to.row] = b.qs[8 * j + i];
      put_bit(codes + 192 + 2 * i, to.row, static_cast<uint32_t>(b.qh[j] >> i));
    }
    for (uint32_t k = 0; k < 4; ++k) put_signs8(codes, k, to.row, b.signs[4 * j + k]);
    to.scale(j, 4, b.scales[j / 2] >> (4 * (j % 2)) & 15);
  }
}

template <>
inline void put_row<layout::IQ1_S>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ1_S*>(block);
  to.d(0, b.d);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ1_S::kCodes;
    for (uint32_t k = 0; k < 4; ++k) codes[16 * k + to.row] = b.qs[4 * j + k];
    std::memcpy(codes + 64 + 2 * to.row, &b.qh[j], 2);
  }
}

template <>
inline void put_row<layout::IQ1_M>(const GridPlaces& to, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ1_M*>(block);
  for (uint32_t i = 0; i < 4; ++i) to.d(32 * i, b.scales[i]);
  for (uint32_t j = 0; j < 8; ++j) {
    uint8_t* codes = to.codes + j * layout::IQ1_M::kCodes;
    for (uint32_t k = 0; k < 4; ++k) codes[16 * k + to.row] = b.qs[4 * j + k];
    std::memcpy(codes + 64 + 2 * to.row, &b.qh[2 * j], 2);
  }
}

}  // namespace brass::cpu
