// The packed layout of a quantized weight: what pack writes and the ISA units read.
//
// A panel is 16 rows × K values, cut into blocks of 32 values: first the scale records of all blocks, padded
// to 64 bytes, then the codes of all blocks. Codes are unsigned (the canonical code + kZero) and lie in bit
// planes of 64-byte vectors: lane r (4 bytes) of vector v of a block is row r, values 4v … 4v + 3. A scale
// record holds its numbers planar, one for each of the 16 rows. So a vector is 16 rows × 4 values: the
// operand of a 4-byte dot product, and a row of an AMX tile.
//
//   codes       vector(s) of a block, v = 0 … 7
//   Nibbles     4: bits 0–3 of vector i: v = i; bits 4–7: v = i + 4
//   Bits(b)     1: bit v of each byte
//   Pairs       2: bits 2j, 2j + 1 of vector i: v = 4i + j
//   Bytes       8: v = i
//   NibblesBits, NibblesPairs, PairsBits: one after the other, the second for the higher bits
//   Own         an order of the type's own: see there
//
// Must not know: standard headers with inline functions (the ISA units include this, see isa/vec.h).
#pragma once

#include <cstddef>
#include <cstdint>

// Quantized types in the order of the tables in parts.h.
// clang-format off
#define BRASS_CPU_QUANTIZED(X)                                                                       \
  X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K)                                    \
  X(Q2_K) X(Q3_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4) X(NVFP4) X(Q1_0) X(Q2_0) X(TQ1_0) X(TQ2_0)            \
  X(IQ1_S) X(IQ1_M) X(IQ2_XXS) X(IQ2_XS) X(IQ2_S) X(IQ3_XXS) X(IQ3_S)
// clang-format on
// Float types, likewise.
#define BRASS_CPU_FLOAT(X) X(F32) X(F16) X(BF16)

namespace brass::cpu::layout {

enum class Planes : uint8_t {
  kNibbles,
  kNibblesBits,
  kNibblesPairs,
  kBytes,
  kPairs,
  kPairsBits,
  kBits,
  kOwn
};

constexpr uint32_t plane_bytes(Planes planes) {
  switch (planes) {
    case Planes::kBits:
      return 64;
    case Planes::kPairs:
      return 128;
    case Planes::kPairsBits:
      return 192;
    case Planes::kNibbles:
      return 256;
    case Planes::kNibblesBits:
      return 320;
    case Planes::kNibblesPairs:
      return 384;
    case Planes::kBytes:
      return 512;
    case Planes::kOwn:
      return 0;
  }
  return 0;
}

// How the sums of one block become floats, in every kernel. `half` is 16 values.
enum class Kind : uint8_t {
  kPlain,     // acc += (isum · scale) · x_scale
  kTwoTerms,  // the same, isum being 256 · that of x's codes + that of its second codes, and scale a 256th
  kOffset,    // and then acc += offset · x_sum
  kHalves,    // acc += (isum of half 0 · its scale + isum of half 1 · its scale) · x_scale
  kMins,      // acc += (isum · scale 0 + Σ halves min · Σ x codes · scale 1) · x_scale
};

// kScales: bytes of one scale record of 16 rows, which covers kSuper blocks of kCodes bytes.
// Kind tile: of the unpacked form. kZero: of the packed codes; kTileZero: of the unpacked ones.
template <Planes planes, uint32_t super, uint32_t scales, Kind kind, uint32_t zero, uint32_t tile_zero = zero>
struct Layout {
  static constexpr Planes kPlanes = planes;
  static constexpr uint32_t kSuper = super, kScales = scales, kCodes = plane_bytes(planes);
  static constexpr Kind kTileKind = kind;
  static constexpr uint32_t kZero = zero, kTileZero = tile_zero;
};
// `codes` bytes a block in an order of its own.
template <uint32_t codes, uint32_t super, uint32_t scales, Kind kind, uint32_t zero>
struct OwnLayout : Layout<Planes::kOwn, super, scales, kind, zero> {
  static constexpr uint32_t kCodes = codes;
};

// Records are arrays over the 16 rows; d, dmin, m are f16.
struct Q4_0 : Layout<Planes::kNibbles, 1, 32, Kind::kPlain, 8> {};       // d
struct Q4_1 : Layout<Planes::kNibbles, 1, 64, Kind::kOffset, 0> {};      // d, m
struct Q5_0 : Layout<Planes::kNibblesBits, 1, 32, Kind::kPlain, 16> {};  // d
struct Q5_1 : Layout<Planes::kNibblesBits, 1, 64, Kind::kOffset, 0> {};  // d, m
// Weights of eight bits are chosen for what they keep, so their products keep x, too.
struct Q8_0 : Layout<Planes::kBytes, 1, 32, Kind::kTwoTerms, 128> {};   // d
struct IQ4_NL : Layout<Planes::kNibbles, 1, 32, Kind::kPlain, 128> {};  // d
struct MXFP4 : Layout<Planes::kNibbles, 1, 16, Kind::kPlain, 12> {};    // e
struct NVFP4 : Layout<Planes::kNibbles, 2, 64, Kind::kHalves, 12> {};   // scale of group 0, 1, 2, 3
struct Q1_0 : Layout<Planes::kBits, 4, 32, Kind::kPlain, 1> {};         // d; codes 0 and 2 as a bit
struct Q2_0 : Layout<Planes::kPairs, 2, 32, Kind::kPlain, 1> {};        // d
struct TQ2_0 : Layout<Planes::kPairs, 8, 32, Kind::kPlain, 1> {};       // d
// d, dmin, low[8]: bits 0–3 of the scale low, of the min high; high[4]: of block j (low nibble) and j + 4
// (high nibble): bits 4–5 of the scale, then of the min.
struct Q4_K : Layout<Planes::kNibbles, 8, 256, Kind::kOffset, 0> {};
struct Q5_K : Layout<Planes::kNibblesBits, 8, 256, Kind::kOffset, 0> {};
struct Q6_K : Layout<Planes::kNibblesPairs, 8, 288, Kind::kHalves, 32> {};  // d, int8 scale of group 0 … 15
// Group g's scale (low nibble) and min, d, dmin. Unpacked, a code is scale · code.
struct Q2_K : Layout<Planes::kPairs, 8, 320, Kind::kMins, 0> {};
// low[8]: bits 0–3 of the scale of group g, then g + 8; high[4]: bits 4–5 of groups i, i + 4, i + 8, i + 12;
// d. Unpacked, a code is −scale · code (128 as a scale · code does not fit int8) under −d.
struct Q3_K : Layout<Planes::kPairsBits, 8, 224, Kind::kPlain, 4, 128> {};
// low[4]: bits 0–3 of the scale of block j, then j + 4; high[2]: bits 4–5 of blocks i, i + 2, i + 4, i + 6;
// d.
struct IQ4_XS : Layout<Planes::kNibbles, 8, 128, Kind::kPlain, 128> {};
// d. The codes of 8 blocks are 13 vectors of five base-3 digits: of blocks 2p and 2p + 1, digits 0 … 14 of
// vectors 3p … 3p + 2 are the first 15 of their 16 vectors, digit p of vector 12 is the last. digit_code says what a
// byte is.
struct TQ1_0 : OwnLayout<104, 8, 32, Kind::kPlain, 1> {};
// Which of the 64 vectors digit i of vector n is; 64: none.
constexpr uint32_t digit_vector(uint32_t n, uint32_t i) {
  if (n == 12) return i < 4 ? 16 * i + 15 : 64;
  return 16 * (n / 3) + 5 * (n % 3) + i;
}

// Five digits in a byte so that six bits of it say the first four, and two bits the fifth, of 64 of the 81 fours; the
// other 17 have what the bytes from 192 on are free for. (A fraction in base 3 took twice the lookups.)
constexpr uint8_t digit_code(const uint32_t (&digit)[5]) {
  const uint32_t four = digit[0] + 3 * digit[1] + 9 * digit[2] + 27 * digit[3];
  return static_cast<uint8_t>(four < 64 ? digit[4] << 6 | four : 192 + 17 * digit[4] + four - 64);
}

// IQ1: the digits of TQ1_0, value + 1 of the grid; its indices are looked up when packing, at a seventh more
// memory, because they are what no tier can look up fast enough. A code is 8 · digit + 1 ± 1, the sign that of
// the shift. Scales as nibbles of three bits and one of a shift:
struct IQ1_S : OwnLayout<104, 8, 96, Kind::kPlain, 9> {};    // [4]: of block j, then j + 4; d. 1: shift is −⅛
struct IQ1_M : OwnLayout<104, 8, 192, Kind::kHalves, 9> {};  // [8]: of group g, then g + 8, with the shift of
                                                             // its first 8 values; d; for each g 16 bits, of
                                                             // row r: 1: the second 8 values' shift is +⅛

// IQ2_XS and IQ2_S: the digits of TQ1_0 too, of the level of each value, because 512 and 1024 entries take longer to
// look up than their 27 % and 15 % more memory to read; behind the 13 vectors of digits a vector of signs for each
// block, bit v of a byte: vector v's is negative. Records: [8]: 4-bit scale of group g, then g + 8; d.
struct IQ2_XS : OwnLayout<168, 8, 160, Kind::kHalves, 128> {};
struct IQ2_S : OwnLayout<168, 8, 160, Kind::kHalves, 128> {};
inline constexpr uint32_t kDigitBytes = 13 * 64;  // of eight blocks

// Other grids, g = 0 … 3: which 8 values of the 32. Indices and signs lie in vectors whose byte 4r + g is of
// row r: bits 0–7 of an index, eight signs (bit j: value j is negative; IQ3_S: those of
// values 0, 2, 4, 6 first). A bit plane is 64 bits, bit 4r + g: a
// further bit of an index. A word of row r has seven signs of each g from bit 7g on (the eighth makes the
// number of minus signs even) and a nibble from bit 28 on. IQ3 has two indices, of values 0–3 and 4–7.
// Records: 4-bit scales, [4]: of block j, then j + 4, or, with halves, [8]: of group g, then g + 8; d.
struct IQ2_XXS : OwnLayout<128, 8, 32, Kind::kPlain, 128> {};  // index, words with the scale; record: d
struct IQ3_XXS : OwnLayout<192, 8, 32, Kind::kPlain, 128> {};  // index[2], words with the scale; record: d
struct IQ3_S : OwnLayout<208, 8, 96, Kind::kPlain, 128> {};    // index[2], signs, bit plane 8 of each index

// Bytes of the scale records of a panel, padded.
template <class L>
constexpr size_t scales_bytes(uint32_t blocks) {
  return (size_t{blocks} / L::kSuper * L::kScales + 63) / 64 * 64;
}
template <class L>
constexpr size_t panel_bytes(uint32_t blocks) {
  return (scales_bytes<L>(blocks) + size_t{blocks} * L::kCodes + 63) / 64 * 64;
}

}  // namespace brass::cpu::layout
