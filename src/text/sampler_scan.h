// Passes over all logits of a vocabulary, written so that baseline x86-64 (or any 128-bit SIMD) runs them
// near the speed of its cache.
//
// Owns: block maxima, the check for non-finite values, exp, and where a share of the weight ends.
// Must not know: sampling parameters.
// Invariants: the same bits on every machine (no contraction, fixed order of additions); no allocation.
#pragma once

#include <cstddef>
#include <span>

namespace brass {

// Maxima are kept for every block of this many logits: small enough that looking into the blocks that hold
// the k best is cheap, large enough that a vocabulary has few.
inline constexpr size_t kScanBlock = 64;

inline size_t scan_blocks(size_t vocab_size) { return (vocab_size + kScanBlock - 1) / kScanBlock; }

// Writes the maximum of every block, and the logits themselves to `copy` if it is not null. Returns whether
// all logits are finite; if not, the maxima are meaningless.
bool scan_logits(std::span<const float> logits, std::span<float> block_max, float* copy);

// The maximum of values none of which is NaN; minus infinity if there are none.
float maximum(std::span<const float> values);

// exp(x) for x <= 0, relative error below 2e-7; 0 below -87 (and for minus infinity). The same bits as
// exp_all.
float exp_nonpositive(float x);

// weights[i] = exp((logits[i] - max) * scale), scale > 0; returns their sum. block_sum gets the sum of every
// block. `max` is not below any logit.
double exp_all(std::span<const float> logits, float max, float scale, std::span<float> weights,
               std::span<double> block_sum);

// A weight in (0, 1] such that the weights that are not below it sum to at least `mass`, and hardly more: a
// threshold for a partial selection. 0 if all together do not.
float weight_of_mass(std::span<const float> weights, double mass);

}  // namespace brass
