// Scales (and mins) for which rounding loses least: weighted least squares, alternating with rounding.
//
// Owns: the search of every encoder: minimize Σ w · (x − value)². For given codes the best scale (and min)
// is a linear least-squares problem; for a given scale the best codes are the nearest levels. So: many
// starting scales, one least-squares step from each, the best one kept, rounded to what the format stores,
// and the codes chosen again.
// Must not know: any format's layout.
// Invariants: n is a multiple of 8, at most 256; x is finite, w ≥ 0 and not all 0; a scale beyond f16
// saturates; values that are exactly level · (an f16 scale) come back exactly.
#pragma once

#include <cstdint>

#include "quant/common/levels.h"

namespace brass {

// value = d · code. Returns d as f16; writes the n codes.
template <class Levels>
uint16_t fit_scale_f16(const float* x, const float* w, int n, const Levels& levels, int8_t* code);

// value = d · code + m, codes 0 … highest.
struct ScaleAndOffset {
  uint16_t d, m;  // f16
};
ScaleAndOffset fit_scale_and_offset_f16(const float* x, const float* w, int n, int highest, int8_t* code);

// value = d · code, codes −1, 0, 1, d ≥ 0: the optimum, not a search. n ≤ 256.
uint16_t fit_ternary_f16(const float* x, const float* w, int n, int8_t* code);

// 256 values in groups of `group`, value = (d · scale[g]) · code, scales lowest_scale … −lowest_scale − 1.
struct NestedScales {
  uint16_t d;  // f16
  int8_t scale[16];
  int8_t code[256];
};
template <class Levels>
NestedScales fit_nested(const float* x, const float* w, int group, const Levels& levels, int lowest_scale);

// 256 values in groups of `group`, value = (d · scale[g]) · code − dmin · min[g],
// codes 0 … highest, scales and mins 0 … highest_scale.
struct NestedScalesAndMins {
  uint16_t d, dmin;  // f16
  uint8_t scale[16], min[16];
  int8_t code[256];
};
NestedScalesAndMins fit_nested_affine(const float* x, const float* w, int group, int highest,
                                      int highest_scale);

}  // namespace brass
