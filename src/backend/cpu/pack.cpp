#include "backend/cpu/pack.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/cpu/kernel_types.h"
#include "backend/cpu/layout.h"
#include "backend/cpu/pack_grid.h"
#include "base/check.h"
#include "quant/common/k_scales.h"
#include "quant/iq1_m/block.h"
#include "quant/iq1_s/block.h"
#include "quant/iq2_s/block.h"
#include "quant/iq2_xs/block.h"
#include "quant/iq4_nl/block.h"
#include "quant/iq4_xs/block.h"
#include "quant/mxfp4/block.h"
#include "quant/nvfp4/block.h"
#include "quant/q1_0/block.h"
#include "quant/q2_0/block.h"
#include "quant/q2_k/block.h"
#include "quant/q3_k/block.h"
#include "quant/q4_k/block.h"
#include "quant/q5_k/block.h"
#include "quant/q6_k/block.h"
#include "quant/tq1_0/block.h"
#include "quant/tq2_0/block.h"

namespace brass::cpu {
namespace {

using layout::Planes;

template <class L>
constexpr bool kHasSigns = std::is_same_v<L, layout::IQ2_XS> || std::is_same_v<L, layout::IQ2_S>;
template <class L>
constexpr bool kHasDigits = kHasSigns<L> || std::is_same_v<L, layout::TQ1_0> ||
                            std::is_same_v<L, layout::IQ1_S> || std::is_same_v<L, layout::IQ1_M>;

constexpr uint32_t kLanes = kPanelRows * 4;  // bytes of a vector: 16 rows × 4 values

// The eight vectors of one block, unsigned codes.
using BlockCodes = uint8_t[8][kLanes];

void write_nibbles(const BlockCodes& u, uint8_t* out) {
  for (int i = 0; i < 4; ++i) {
    for (uint32_t j = 0; j < kLanes; ++j) {
      out[kLanes * i + j] = static_cast<uint8_t>((u[i][j] & 15) | (u[i + 4][j] & 15) << 4);
    }
  }
}

// Bit `bit` of every code.
void write_bits(const BlockCodes& u, int bit, uint8_t* out) {
  for (uint32_t j = 0; j < kLanes; ++j) {
    int byte = 0;
    for (int v = 0; v < 8; ++v) byte |= (u[v][j] >> bit & 1) << v;
    out[j] = static_cast<uint8_t>(byte);
  }
}

// Bits `bit` and `bit` + 1 of every code.
void write_pairs(const BlockCodes& u, int bit, uint8_t* out) {
  for (int i = 0; i < 2; ++i) {
    for (uint32_t j = 0; j < kLanes; ++j) {
      int byte = 0;
      for (int v = 0; v < 4; ++v) byte |= (u[4 * i + v][j] >> bit & 3) << (2 * v);
      out[kLanes * i + j] = static_cast<uint8_t>(byte);
    }
  }
}

template <Planes planes>
void write_planes(const BlockCodes& u, uint8_t* out) {
  if constexpr (planes == Planes::kNibbles || planes == Planes::kNibblesBits ||
                planes == Planes::kNibblesPairs) {
    write_nibbles(u, out);
  }
  if constexpr (planes == Planes::kNibblesBits) write_bits(u, 4, out + 256);
  if constexpr (planes == Planes::kNibblesPairs) write_pairs(u, 4, out + 256);
  if constexpr (planes == Planes::kPairs || planes == Planes::kPairsBits) write_pairs(u, 0, out);
  if constexpr (planes == Planes::kPairsBits) write_bits(u, 2, out + 128);
  if constexpr (planes == Planes::kBits) write_bits(u, 0, out);
  if constexpr (planes == Planes::kBytes) std::memcpy(out, u, sizeof u);
}

void put16(uint8_t* record, uint32_t slot, const std::byte* from) { std::memcpy(record + 2 * slot, from, 2); }

// write_record<L>(record, row, block): the row's numbers from one block of the file.
template <class L>
void write_record(uint8_t* record, uint32_t row, const std::byte* block) {
  put16(record, row, block);  // d leads these blocks
  if constexpr (L::kTileKind == layout::Kind::kOffset)
    put16(record + 32, row, block + 2);  // and m follows it
}

void write_k_record(uint8_t* record, uint32_t row, uint16_t d, uint16_t dmin, const uint8_t (&packed)[12]) {
  const KScales s = unpack_k_scales(packed);
  std::memcpy(record + 2 * row, &d, 2);
  std::memcpy(record + 32 + 2 * row, &dmin, 2);
  for (int j = 0; j < 8; ++j) {
    record[64 + 16 * j + row] = static_cast<uint8_t>((s.scale[j] & 15) | (s.min[j] & 15) << 4);
    const int high = s.scale[j] >> 4 | (s.min[j] >> 4) << 2;
    uint8_t& byte = record[192 + 16 * (j % 4) + row];
    byte = static_cast<uint8_t>(j < 4 ? high : byte | high << 4);
  }
}

template <>
void write_record<layout::Q4_K>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockQ4_K*>(block);
  write_k_record(record, row, b.d, b.dmin, b.scales);
}

template <>
void write_record<layout::Q5_K>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockQ5_K*>(block);
  write_k_record(record, row, b.d, b.dmin, b.scales);
}

template <>
void write_record<layout::Q6_K>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockQ6_K*>(block);
  std::memcpy(record + 2 * row, &b.d, 2);
  for (int g = 0; g < 16; ++g) record[32 + 16 * g + row] = static_cast<uint8_t>(b.scales[g]);
}

template <>
void write_record<layout::Q2_K>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockQ2_K*>(block);
  for (int g = 0; g < 16; ++g) record[16 * g + row] = b.scales[g];
  std::memcpy(record + 256 + 2 * row, &b.d, 2);
  std::memcpy(record + 288 + 2 * row, &b.dmin, 2);
}

template <>
void write_record<layout::Q3_K>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockQ3_K*>(block);
  for (int i = 0; i < 8; ++i) record[16 * i + row] = b.scales[i];  // the file's nibbles are of g and g + 8
  for (int i = 0; i < 4; ++i) record[128 + 16 * i + row] = b.scales[8 + i];  // and its pairs of i, i + 4, …
  std::memcpy(record + 192 + 2 * row, &b.d, 2);
}

template <>
void write_record<layout::IQ4_XS>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ4_XS*>(block);
  for (int j = 0; j < 8; ++j) {
    const int low = b.scales_l[j / 2] >> (4 * (j % 2)) & 15, high = b.scales_h >> (2 * j) & 3;
    record[16 * (j % 4) + row] |= static_cast<uint8_t>(low << (j < 4 ? 0 : 4));
    record[64 + 16 * (j % 2) + row] |= static_cast<uint8_t>(high << (j / 2 * 2));
  }
  std::memcpy(record + 96 + 2 * row, &b.d, 2);
}

template <>
void write_record<layout::MXFP4>(uint8_t* record, uint32_t row, const std::byte* block) {
  record[row] = reinterpret_cast<const BlockMXFP4*>(block)->e;
}

template <>
void write_record<layout::NVFP4>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockNVFP4*>(block);
  for (int g = 0; g < 4; ++g) record[16 * g + row] = b.scales[g];
}

void write_nibble(uint8_t* nibbles, uint32_t row, uint32_t i, uint32_t n, int value) {
  nibbles[16 * (i % n) + row] |= static_cast<uint8_t>(value << (i < n ? 0 : 4));
}

template <>
void write_record<layout::IQ1_S>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ1_S*>(block);
  for (uint32_t j = 0; j < 8; ++j) write_nibble(record, row, j, 4, b.qh[j] >> 12);
  std::memcpy(record + 64 + 2 * row, &b.d, 2);
}

template <>
void write_record<layout::IQ1_M>(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const BlockIQ1_M*>(block);
  uint16_t d = 0;
  for (uint32_t g = 0; g < 16; ++g) {
    const int scale = b.scales[g / 4] >> (3 * (g % 4)) & 7;
    write_nibble(record, row, g, 8, scale | (b.qh[g] & 8));
    if (b.qh[g] < 128) put_bit(record + 160 + 2 * g, row, 1);
  }
  for (int i = 0; i < 4; ++i) d = static_cast<uint16_t>(d | b.scales[i] >> 12 << (4 * i));
  std::memcpy(record + 128 + 2 * row, &d, 2);
}

template <class Block>
void write_iq2_record(uint8_t* record, uint32_t row, const std::byte* block) {
  const auto& b = *reinterpret_cast<const Block*>(block);
  for (uint32_t g = 0; g < 16; ++g) write_nibble(record, row, g, 8, b.scales[g / 2] >> (4 * (g % 2)) & 15);
  std::memcpy(record + 128 + 2 * row, &b.d, 2);
}
template <>
void write_record<layout::IQ2_XS>(uint8_t* record, uint32_t row, const std::byte* block) {
  write_iq2_record<BlockIQ2_XS>(record, row, block);
}
template <>
void write_record<layout::IQ2_S>(uint8_t* record, uint32_t row, const std::byte* block) {
  write_iq2_record<BlockIQ2_S>(record, row, block);
}

// These have their d behind the codes.
template <>
void write_record<layout::TQ1_0>(uint8_t* record, uint32_t row, const std::byte* block) {
  put16(record, row, block + offsetof(BlockTQ1_0, d));
}
template <>
void write_record<layout::TQ2_0>(uint8_t* record, uint32_t row, const std::byte* block) {
  put16(record, row, block + offsetof(BlockTQ2_0, d));
}

// read_codes<L>(format, block, out): the unsigned codes of one block of the file, in the order of its values.
template <class L>
void read_codes(const Format& format, const std::byte* block, uint8_t* out) {
  CanonicalBlock view;
  format.view(block, view);
  for (uint32_t j = 0; j < format.block_values; ++j)
    out[j] = static_cast<uint8_t>(view.code[j] + static_cast<int>(L::kZero));
}

// The panel keeps indices of levels, not levels. `half`: the distance of a byte's two values.
void split_nibbles(const uint8_t* bytes, uint32_t half, uint32_t groups, uint8_t* out) {
  for (uint32_t g = 0; g < groups; ++g) {
    for (uint32_t j = 0; j < half; ++j) {
      out[2 * half * g + j] = bytes[half * g + j] & 15;
      out[2 * half * g + half + j] = bytes[half * g + j] >> 4;
    }
  }
}
template <>
void read_codes<layout::IQ4_NL>(const Format&, const std::byte* block, uint8_t* out) {
  split_nibbles(reinterpret_cast<const BlockIQ4_NL*>(block)->qs, 16, 1, out);
}
template <>
void read_codes<layout::MXFP4>(const Format&, const std::byte* block, uint8_t* out) {
  split_nibbles(reinterpret_cast<const BlockMXFP4*>(block)->qs, 16, 1, out);
}
template <>
void read_codes<layout::IQ4_XS>(const Format&, const std::byte* block, uint8_t* out) {
  split_nibbles(reinterpret_cast<const BlockIQ4_XS*>(block)->qs, 16, 8, out);
}
template <>
void read_codes<layout::NVFP4>(const Format&, const std::byte* block, uint8_t* out) {
  split_nibbles(reinterpret_cast<const BlockNVFP4*>(block)->qs, 8, 4, out);
}

// Digits of the grid, without the shift.
void read_digits(const Format& format, const std::byte* block, uint8_t* out) {
  CanonicalBlock view;
  format.view(block, view);
  for (uint32_t j = 0; j < format.block_values; ++j) out[j] = static_cast<uint8_t>((view.code[j] + 9) / 8);
}
template <>
void read_codes<layout::IQ1_S>(const Format& format, const std::byte* block, uint8_t* out) {
  read_digits(format, block, out);
}
template <>
void read_codes<layout::IQ1_M>(const Format& format, const std::byte* block, uint8_t* out) {
  read_digits(format, block, out);
}

// Of a value: which of the three magnitudes, and bit 2: it is negative.
void read_levels(const Format& format, const std::byte* block, uint8_t* out) {
  CanonicalBlock view;
  format.view(block, view);
  for (uint32_t j = 0; j < format.block_values; ++j) {
    const int code = view.code[j], size = code < 0 ? -code : code;
    const int level = size == 8 ? 0 : size == 25 ? 1 : 2;
    out[j] = static_cast<uint8_t>(level | (code < 0 ? 4 : 0));
  }
}
template <>
void read_codes<layout::IQ2_XS>(const Format& format, const std::byte* block, uint8_t* out) {
  read_levels(format, block, out);
}
template <>
void read_codes<layout::IQ2_S>(const Format& format, const std::byte* block, uint8_t* out) {
  read_levels(format, block, out);
}

template <class L>
void write_codes(const BlockCodes* u, uint8_t* codes) {
  for (uint32_t j = 0; j < L::kSuper; ++j) write_planes<L::kPlanes>(u[j], codes + j * L::kCodes);
}
template <>
void write_codes<layout::Q1_0>(const BlockCodes* u, uint8_t* codes) {
  for (uint32_t j = 0; j < layout::Q1_0::kSuper; ++j) write_bits(u[j], 1, codes + j * layout::Q1_0::kCodes);
}
void write_digits(const BlockCodes* u, uint8_t* codes) {
  for (uint32_t n = 0; n < 13; ++n) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      uint32_t digits[5];
      for (uint32_t i = 0; i < 5; ++i) {
        const uint32_t vector = layout::digit_vector(n, i);
        digits[i] = vector < 64 ? u[vector / 8][vector % 8][lane] & 3 : 0;
      }
      codes[kLanes * n + lane] = layout::digit_code(digits);
    }
  }
}
template <>
void write_codes<layout::TQ1_0>(const BlockCodes* u, uint8_t* codes) {
  write_digits(u, codes);
}
template <>
void write_codes<layout::IQ1_S>(const BlockCodes* u, uint8_t* codes) {
  write_digits(u, codes);
}
template <>
void write_codes<layout::IQ1_M>(const BlockCodes* u, uint8_t* codes) {
  write_digits(u, codes);
}

void write_signed_digits(const BlockCodes* u, uint8_t* codes) {
  write_digits(u, codes);
  for (uint32_t j = 0; j < 8; ++j) write_bits(u[j], 2, codes + layout::kDigitBytes + kLanes * j);
}
template <>
void write_codes<layout::IQ2_XS>(const BlockCodes* u, uint8_t* codes) {
  write_signed_digits(u, codes);
}
template <>
void write_codes<layout::IQ2_S>(const BlockCodes* u, uint8_t* codes) {
  write_signed_digits(u, codes);
}

template <class L>
void pack_quantized(const Format& format, const std::byte* rows, uint32_t rows_here, uint32_t cols,
                    uint8_t* panel) {
  const uint32_t file_blocks = cols / format.block_values;
  const size_t stride = row_bytes(format, cols);
  uint8_t* codes = panel + layout::scales_bytes<L>(cols / 32);
  ENSURE(format.block_values == L::kSuper * 32, "{}", format.name);
  std::memset(panel, 0, layout::panel_bytes<L>(cols / 32));
  uint8_t row_codes[kMaxBlockValues];
  BlockCodes u[L::kSuper];
  constexpr bool kIndices = L::kPlanes == Planes::kNibbles && (L::kZero == 128 || L::kZero == 12);
  std::memset(u, kIndices || kHasDigits<L> ? 0 : L::kZero, sizeof u);
  for (uint32_t i = 0; i < file_blocks; ++i) {
    for (uint32_t row = 0; row < rows_here; ++row) {
      const std::byte* block = rows + row * stride + i * format.block_bytes;
      read_codes<L>(format, block, row_codes);
      for (uint32_t v = 0; v < format.block_values / 4; ++v) {
        std::memcpy(&u[v / 8][v % 8][4 * row], row_codes + 4 * v, 4);
      }
      write_record<L>(panel + i * L::kScales, row, block);
    }
    write_codes<L>(u, codes + size_t{i} * L::kSuper * L::kCodes);
  }
}

template <class L>
void pack_grid(const Format& format, const std::byte* rows, uint32_t rows_here, uint32_t cols,
               uint8_t* panel) {
  const size_t stride = row_bytes(format, cols);
  uint8_t* codes = panel + layout::scales_bytes<L>(cols / 32);
  std::memset(panel, 0, layout::panel_bytes<L>(cols / 32));
  for (uint32_t row = 0; row < rows_here; ++row) {
    for (uint32_t i = 0; i < cols / format.block_values; ++i) {
      put_row<L>({panel + i * L::kScales, codes + size_t{i} * L::kSuper * L::kCodes, row},
                 rows + row * stride + i * format.block_bytes);
    }
  }
}

template <class L>
constexpr auto packer() {
  constexpr bool kIsGrid = L::kPlanes == Planes::kOwn && !kHasDigits<L>;
  if constexpr (kIsGrid) {
    return pack_grid<L>;
  } else {
    return pack_quantized<L>;
  }
}

template <class Word>
void pack_float(const std::byte* rows, uint32_t rows_here, uint32_t cols, std::byte* panel) {
  const auto* from = reinterpret_cast<const Word*>(rows);
  auto* to = reinterpret_cast<Word*>(panel);
  for (uint32_t k = 0; k < cols; ++k) {
    for (uint32_t row = 0; row < kPanelRows; ++row) {
      to[k * kPanelRows + row] = row < rows_here ? from[size_t{row} * cols + k] : Word{0};
    }
  }
}

struct Packer {
  Type type;
  LayoutFacts facts;
  size_t (*panel_bytes)(uint32_t blocks);
  void (*pack)(const Format&, const std::byte*, uint32_t, uint32_t, uint8_t*);
};

#define BRASS_ROW(name)                                                            \
  Packer{Type::name,                                                               \
         {layout::name::kSuper, layout::name::kTileKind, layout::name::kTileZero}, \
         layout::panel_bytes<layout::name>,                                        \
         packer<layout::name>()},
constexpr Packer kPackers[] = {BRASS_CPU_QUANTIZED(BRASS_ROW)};
#undef BRASS_ROW
#define BRASS_ROW(name) Type::name,
constexpr Type kFloats[] = {BRASS_CPU_FLOAT(BRASS_ROW)};
#undef BRASS_ROW

}  // namespace

std::optional<uint8_t> quantized_index(Type type) {
  for (uint8_t i = 0; i < std::size(kPackers); ++i) {
    if (kPackers[i].type == type) return i;
  }
  return std::nullopt;
}

std::optional<uint8_t> float_index(Type type) {
  for (uint8_t i = 0; i < std::size(kFloats); ++i) {
    if (kFloats[i] == type) return i;
  }
  return std::nullopt;
}

LayoutFacts layout_facts(uint8_t index) { return kPackers[index].facts; }

bool can_pack(Type type) { return quantized_index(type) || float_index(type); }
uint8_t int8_terms(Type type) {
  const auto i = quantized_index(type);
  if (!i) return 0;
  return layout_facts(*i).kind == layout::Kind::kTwoTerms ? 2 : 1;
}

size_t panel_bytes(Type type, uint32_t cols) {
  if (const auto i = quantized_index(type)) return kPackers[*i].panel_bytes(cols / 32);
  ENSURE(float_index(type), "type {}", static_cast<uint32_t>(type));
  return (size_t{cols} * kPanelRows * find_format(type)->block_bytes + 63) / 64 * 64;
}

void pack(Type type, const std::byte* file_rows, uint32_t rows_here, uint32_t cols, std::byte* panel) {
  const Format& format = *find_format(type);
  ENSURE(rows_here >= 1 && rows_here <= kPanelRows && cols % format.block_values == 0,
         "{} rows, {} columns of {}", rows_here, cols, format.name);
  if (const auto i = quantized_index(type)) {
    return kPackers[*i].pack(format, file_rows, rows_here, cols, reinterpret_cast<uint8_t*>(panel));
  }
  ENSURE(float_index(type), "{}", format.name);
  if (format.block_bytes == 4) return pack_float<uint32_t>(file_rows, rows_here, cols, panel);
  pack_float<uint16_t>(file_rows, rows_here, cols, panel);
}

}  // namespace brass::cpu
