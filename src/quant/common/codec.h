// From a format's unpacking to its Format row.
//
// Owns: the loops that every quantized format shares: decode and view from one unpacking, encode by
// blocks, the scan for non-finite scales.
// Must not know: any format's layout.
// Invariants: decode is scale * code - min in f32 without contraction, which is how each of these formats
// is defined. A codec C has
//   Block                         the packed struct of the file; its size is the bytes of a block
//   kValues, kGroup, kHasMin      as in Format
//   unpack(block, out)            writes code[kValues], scale[kValues / kGroup] and, if kHasMin, the mins
//   encode_block(x, w, block)     where there is an encoder: kValues values, as many weights, not all 0
//   finite(block)                 no scale (or value) is NaN or infinite
//   set_scale(block, magnitude)   as in Format
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.h"
#include "quant/format.h"

namespace brass {

template <class Block>
const Block& block_at(const std::byte* blocks, size_t i) {
  static_assert(alignof(Block) == 1, "a block lies anywhere in a file");
  return reinterpret_cast<const Block*>(blocks)[i];
}

template <class Block>
Block& block_at(std::byte* blocks, size_t i) {
  static_assert(alignof(Block) == 1, "a block lies anywhere in a file");
  return reinterpret_cast<Block*>(blocks)[i];
}

inline bool finite_f16(uint16_t h) { return (h & 0x7c00u) != 0x7c00u; }
// Both, without a branch between them.
inline bool finite_f16(uint16_t a, uint16_t b) {
  return ((((a & 0x7c00u) + 0x400u) | ((b & 0x7c00u) + 0x400u)) & 0x8000u) == 0;
}

template <class C>
void decode_blocks(const std::byte* blocks, float* __restrict out, size_t n) {
  for (size_t i = 0; i < n / C::kValues; ++i, out += C::kValues) {
    CanonicalBlock block;
    C::unpack(block_at<typename C::Block>(blocks, i), block);
    for (int g = 0; g < C::kValues / C::kGroup; ++g) {
      for (int j = g * C::kGroup; j < (g + 1) * C::kGroup; ++j) {
        const float product = block.scale[g] * static_cast<float>(block.code[j]);
        if constexpr (C::kHasMin) {
          out[j] = product - block.min[g];
        } else {
          out[j] = product;
        }
      }
    }
  }
}

template <class C>
void view_block(const std::byte* block, CanonicalBlock& out) {
  C::unpack(block_at<typename C::Block>(block, 0), out);
  if constexpr (!C::kHasMin) std::memset(out.min, 0, sizeof out.min);
}

template <class C>
ptrdiff_t find_non_finite_block(const std::byte* blocks, size_t n) {
  for (size_t i = 0; i < n / C::kValues; ++i) {
    if (!C::finite(block_at<typename C::Block>(blocks, i))) return static_cast<ptrdiff_t>(i);
  }
  return -1;
}

template <class C>
void set_block_scale(std::byte* block, float magnitude) {
  C::set_scale(block_at<typename C::Block>(block, 0), magnitude);
}

// Values that nothing tells apart weigh the same: no importance given, or none of a block's values has any.
template <class C>
void encode_blocks(const float* values, std::byte* blocks, size_t n, const float* importance) {
  static constexpr auto kEqual = [] {
    std::array<float, C::kValues> ones{};
    ones.fill(1.0f);
    return ones;
  }();
  for (size_t i = 0; i < n / C::kValues; ++i) {
    const float* w = importance == nullptr ? kEqual.data() : importance + i * C::kValues;
    if (std::all_of(w, w + C::kValues, [](float each) { return each == 0.0f; })) w = kEqual.data();
    C::encode_block(values + i * C::kValues, w, block_at<typename C::Block>(blocks, i));
  }
}

template <class C>
constexpr auto encoder_of() -> decltype(Format::encode) {
  if constexpr (requires { &C::encode_block; }) return encode_blocks<C>;
  return nullptr;
}

template <class C>
constexpr Format make_format(Type type, std::string_view name) {
  return {.type = type,
          .name = name,
          .block_values = C::kValues,
          .block_bytes = sizeof(typename C::Block),
          .group = C::kGroup,
          .has_min = C::kHasMin,
          .decode = decode_blocks<C>,
          .encode = encoder_of<C>(),
          .view = view_block<C>,
          .find_non_finite = find_non_finite_block<C>,
          .set_scale = set_block_scale<C>};
}

}  // namespace brass
