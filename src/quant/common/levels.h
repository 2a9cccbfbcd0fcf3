// Which integers a format's codes may stand for, and the nearest of them to a real number.
//
// Owns: rounding onto uniform and onto tabulated levels, and the aims: the numbers onto which an encoder
// tries to scale the largest magnitude of a block.
// Must not know: scales, layouts.
// Invariants: NaN rounds to some level (encoders are given finite values, but must not break on others).
#pragma once

#include <cmath>
#include <cstdint>

namespace brass {

inline float clamp_to(float t, float lo, float hi) {
  t = t > lo ? t : lo;  // NaN becomes lo
  return t < hi ? t : hi;
}

// A little inside and outside each end of the levels, and single levels.
class Aims {
 public:
  constexpr void add_around(float end) {
    for (int step = -6; step <= 4; ++step) add(end * (1.0f - 0.05f * static_cast<float>(step)));
  }
  constexpr void add(float aim) { aim_[count_++] = aim; }
  constexpr const float* begin() const { return aim_; }
  constexpr const float* end() const { return aim_ + count_; }

 private:
  float aim_[64] = {};
  int count_ = 0;
};

// lo, lo + 1, … hi.
class UniformLevels {
 public:
  constexpr UniformLevels(int lo, int hi) : lo_(static_cast<float>(lo)), hi_(static_cast<float>(hi)) {
    add_end(hi);
    if (lo != -hi) add_end(lo);  // else the same by symmetry
  }

  float nearest(float t) const { return clamp_to(std::nearbyint(t), lo_, hi_); }
  const Aims& aims() const { return aims_; }

 private:
  constexpr void add_end(int end) {
    const int magnitude = end < 0 ? -end : end, sign = end < 0 ? -1 : 1;
    aims_.add_around(static_cast<float>(end));
    // Whole levels, so that what was once encoded is found again.
    for (int level = magnitude < 32 ? 1 : magnitude * 7 / 9; level <= magnitude; ++level) {
      aims_.add(static_cast<float>(sign * level));
    }
    // With few levels it pays to clip outliers hard.
    for (int times = 2; magnitude <= 2 && times <= 8; times += 2) aims_.add(static_cast<float>(times * end));
  }

  float lo_, hi_;
  Aims aims_;
};

// The levels of a table of at most 16 integers within −127 … 127.
class TableLevels {
 public:
  template <int N>
  constexpr explicit TableLevels(const int8_t (&levels)[N]) {
    static_assert(N <= 16);
    for (int at = 0; at < kCells; ++at) {
      int best = 0;
      for (int i = 1; i < N; ++i) {
        if (distance(at, levels[i]) < distance(at, levels[best])) best = i;
      }
      level_[at] = levels[best];
      index_[at] = static_cast<uint8_t>(best);
    }
    aims_.add_around(level_[0]);
    aims_.add_around(level_[kCells - 1]);
    for (const int8_t level : levels) {
      if (level != 0) aims_.add(level);
    }
  }

  float nearest(float t) const { return level_[cell(t)]; }
  uint8_t index_of(int level) const { return index_[2 * level + kEnd]; }  // of one of the table's levels
  const Aims& aims() const { return aims_; }

 private:
  // Midpoints between integers are multiples of a half: a cell from one to the next has one nearest level.
  static constexpr int kEnd = 254, kCells = 2 * kEnd + 1;

  static int cell(float t) {
    return static_cast<int>(std::floor(2.0f * clamp_to(t, -127.0f, 127.0f))) + kEnd;
  }
  static constexpr int distance(int at, int level) {  // of the cell's centre, in quarters
    const int d = 2 * (at - kEnd) + 1 - 4 * level;
    return d < 0 ? -d : d;
  }

  int8_t level_[kCells] = {};
  uint8_t index_[kCells] = {};
  Aims aims_;
};

}  // namespace brass
