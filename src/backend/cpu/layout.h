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
//   Q5: Nibbles, then Bits for bit 4.   Q6: Nibbles, then Pairs for bits 4–5.
//
// Must not know: standard headers with inline functions (the ISA units include this, see isa/vec.h).
#pragma once

#include <cstddef>
#include <cstdint>

// Quantized types in the order of the tables in parts.h.
#define BRASS_CPU_QUANTIZED(X) X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K)
// Float types, likewise.
#define BRASS_CPU_FLOAT(X) X(F32) X(F16) X(BF16)

namespace brass::cpu::layout {

enum class Planes : uint8_t { kNibbles, kNibblesBits, kNibblesPairs, kBytes, kPairs, kBits };

constexpr uint32_t plane_bytes(Planes planes) {
  switch (planes) {
    case Planes::kBits:
      return 64;
    case Planes::kPairs:
      return 128;
    case Planes::kNibbles:
      return 256;
    case Planes::kNibblesBits:
      return 320;
    case Planes::kNibblesPairs:
      return 384;
    case Planes::kBytes:
      return 512;
  }
  return 0;
}

// kScales: bytes of one scale record of 16 rows, which covers kSuper blocks. kHalves: 2 where 16 values share
// a scale. kOffset: value = scale · code + offset.
struct Q4_0 {  // record: d[16]
  static constexpr Planes kPlanes = Planes::kNibbles;
  static constexpr uint32_t kSuper = 1, kScales = 32, kHalves = 1, kZero = 8;
  static constexpr bool kOffset = false;
};
struct Q4_1 {  // record: d[16], m[16]
  static constexpr Planes kPlanes = Planes::kNibbles;
  static constexpr uint32_t kSuper = 1, kScales = 64, kHalves = 1, kZero = 0;
  static constexpr bool kOffset = true;
};
struct Q5_0 {  // record: d[16]
  static constexpr Planes kPlanes = Planes::kNibblesBits;
  static constexpr uint32_t kSuper = 1, kScales = 32, kHalves = 1, kZero = 16;
  static constexpr bool kOffset = false;
};
struct Q5_1 {  // record: d[16], m[16]
  static constexpr Planes kPlanes = Planes::kNibblesBits;
  static constexpr uint32_t kSuper = 1, kScales = 64, kHalves = 1, kZero = 0;
  static constexpr bool kOffset = true;
};
struct Q8_0 {  // record: d[16]
  static constexpr Planes kPlanes = Planes::kBytes;
  static constexpr uint32_t kSuper = 1, kScales = 32, kHalves = 1, kZero = 128;
  static constexpr bool kOffset = false;
};
// record: d[16], dmin[16], low[8][16]: bits 0–3 of the scale low, of the min high; high[4][16]: of block j
// (low nibble) and j + 4 (high nibble): bits 4–5 of the scale, then of the min.
struct Q4_K {
  static constexpr Planes kPlanes = Planes::kNibbles;
  static constexpr uint32_t kSuper = 8, kScales = 256, kHalves = 1, kZero = 0;
  static constexpr bool kOffset = true;
};
struct Q5_K {  // record: as Q4_K
  static constexpr Planes kPlanes = Planes::kNibblesBits;
  static constexpr uint32_t kSuper = 8, kScales = 256, kHalves = 1, kZero = 0;
  static constexpr bool kOffset = true;
};
struct Q6_K {  // record: d[16], int8 scales[16 groups][16]
  static constexpr Planes kPlanes = Planes::kNibblesPairs;
  static constexpr uint32_t kSuper = 8, kScales = 288, kHalves = 2, kZero = 32;
  static constexpr bool kOffset = false;
};

// Bytes of the scale records of a panel, padded.
template <class L>
constexpr size_t scales_bytes(uint32_t blocks) {
  return (size_t{blocks} / L::kSuper * L::kScales + 63) / 64 * 64;
}
template <class L>
constexpr size_t panel_bytes(uint32_t blocks) {
  return scales_bytes<L>(blocks) + size_t{blocks} * plane_bytes(L::kPlanes);
}

}  // namespace brass::cpu::layout
