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
  kPlain,   // acc += (isum · scale) · x_scale
  kOffset,  // and then acc += offset · x_sum
  kHalves,  // acc += (isum of half 0 · its scale + isum of half 1 · its scale) · x_scale
  kMins,    // acc += (isum · scale 0 + Σ halves min · Σ x codes · scale 1) · x_scale
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
struct Q8_0 : Layout<Planes::kBytes, 1, 32, Kind::kPlain, 128> {};       // d
struct IQ4_NL : Layout<Planes::kNibbles, 1, 32, Kind::kPlain, 128> {};   // d
struct MXFP4 : Layout<Planes::kNibbles, 1, 16, Kind::kPlain, 12> {};     // e
struct NVFP4 : Layout<Planes::kNibbles, 2, 64, Kind::kHalves, 12> {};    // scale of group 0, 1, 2, 3
struct Q1_0 : Layout<Planes::kBits, 4, 32, Kind::kPlain, 1> {};          // d; codes 0 and 2 as a bit
struct Q2_0 : Layout<Planes::kPairs, 2, 32, Kind::kPlain, 1> {};         // d
struct TQ2_0 : Layout<Planes::kPairs, 8, 32, Kind::kPlain, 1> {};        // d
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
// d. The codes of 8 blocks are 13 vectors of five base-3 digits: digit i of vector n is v = 5n + i of the 64.
// A byte is the base-3 fraction 0.t0 t1 t2 t3 t4 in 256ths, rounded up.
struct TQ1_0 : OwnLayout<104, 8, 32, Kind::kPlain, 1> {};

// Grids, k: which 8 values of the 32. A sign mask is 64 bits, bit 4r + i: value i of row r is negative.
//   signs(8)  for each k: masks of values 0–3 and 4–7
//   signs(7)  for each k: mask of values 0–3; then for each k: 48 bits, bit 3r + i: value 4 + i of row r
//   (6-byte
//             words); the sign of value 7 makes the number of minus signs even
// The records of IQ2, IQ3: 4-bit scales, [4]: of block j, then j + 4, or, with halves, [8]: of group g, then
// g + 8; d.
struct IQ2_XXS : OwnLayout<120, 8, 96, Kind::kPlain, 128> {};  // signs(7), index[k][16]
struct IQ2_XS : OwnLayout<128, 8, 160, Kind::kHalves, 128> {
};  // signs(7), index[k][16], bit 8 of it [k] 16 bits
struct IQ2_S : OwnLayout<144, 8, 160, Kind::kHalves, 128> {
};  // signs(8), index[k][16], bits 8, 9 [16] byte of 4 k
struct IQ3_XXS : OwnLayout<184, 8, 96, Kind::kPlain, 128> {};  // signs(7), index[2k + half][16]
struct IQ3_S : OwnLayout<208, 8, 96, Kind::kPlain, 128> {
};  // signs(8), index[2k + half][16], bit 8 [2k + half]
// d. index[k][16], the file's qh[16].
struct IQ1_S : OwnLayout<96, 8, 32, Kind::kPlain, 9> {};
// The file's scales[4]. index[k][16], the file's nibbles [16].
struct IQ1_M : OwnLayout<96, 8, 128, Kind::kHalves, 9> {};

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
