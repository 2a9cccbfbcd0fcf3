// Loops over rows of any length, 16 lanes at a time.
#pragma once

#include "backend/cpu/isa/vec.h"

namespace {

// f(offset, lanes): 16 at a time, then the last few.
template <class Fn>
BRASS_INLINE void for_lanes(uint32_t n, Fn f) {
  uint32_t i = 0;
  for (; i + 16 <= n; i += 16) f(i, 16u);
  if (i < n) f(i, n - i);
}
BRASS_INLINE F get(const float* p, uint32_t lanes) { return lanes == 16 ? loadu(p) : load_part(p, lanes); }
BRASS_INLINE void put(float* p, F a, uint32_t lanes) {
  if (lanes == 16) {
    storeu(p, a);
  } else {
    store_part(p, a, lanes);
  }
}

// Σ f(x) over n values: four sums of 16 lanes.
template <class Fn>
BRASS_INLINE float total(const float* x, uint32_t n, Fn f) {
  F s[4] = {zero(), zero(), zero(), zero()};
  uint32_t i = 0;
  for (; i + 64 <= n; i += 64) {
    BRASS_UNROLL
    for (int j = 0; j < 4; ++j) s[j] = f(loadu(x + i + 16 * j), s[j]);
  }
  for (; i + 16 <= n; i += 16) s[0] = f(loadu(x + i), s[0]);
  float rest = 0.0f;
  for (; i < n; ++i) rest += sum(f(load_part(x + i, 1), zero()));
  return sum((s[0] + s[1]) + (s[2] + s[3])) + rest;
}

}  // namespace
