// Grids: the code books of the IQ formats, whose codes are indices of whole vectors of 4 or 8 values.
//
// Owns: how a code book is written down (a few bits a value) and how it expands to one byte a value.
// Must not know: any code book, any standard header (kernels of all instruction sets include this).
// Invariants: value j of an entry is byte j, counted from the least significant one.
// Each code book is a constant of its format, as the reference implementation of GGML fixed it
// (ggml-common.h; the same tables stand in gguf-py's quants.py).
#pragma once

#include <stdint.h>

namespace brass {

template <class T, int N>
struct Grid {
  static constexpr int kEntries = N;
  T entry[N];
};

// Entry i, value j: level[(packed[i] >> (bits · j)) mod 2^bits], for 8 (T: 64 bits) or 4
// (T: 32 bits) values.
template <class T, int N, int L>
constexpr Grid<T, N> expand_grid(const uint16_t (&packed)[N], int bits, const int8_t (&level)[L]) {
  Grid<T, N> out{};
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < static_cast<int>(sizeof(T)); ++j) {
      const int which = (packed[i] >> (bits * j)) & ((1 << bits) - 1);
      out.entry[i] |= static_cast<T>(static_cast<uint8_t>(level[which])) << (8 * j);
    }
  }
  return out;
}

// The two bytes of every packed entry, apart: what kernels look up 64 at a time.
template <int N>
struct GridPlanes {
  alignas(64) uint8_t plane[2][N];
};
template <int N>
constexpr GridPlanes<N> split_grid(const uint16_t (&packed)[N]) {
  GridPlanes<N> out{};
  for (int i = 0; i < N; ++i) {
    out.plane[0][i] = static_cast<uint8_t>(packed[i]);
    out.plane[1][i] = static_cast<uint8_t>(packed[i] >> 8);
  }
  return out;
}

}  // namespace brass
