// How far one engine's predictions are from another's on the same text: what a smaller file, a smaller cache or another
// device costs in quality.
//
// Owns: running both over the text, and the sums. Must not know: files, flags, why the two differ.
// Invariants: both engines see the same tokens at the same positions; nothing is sampled, so that the figures of one
// build and tier are the same in every run. Both engines have no sequences of their own before and after.
#pragma once

#include "runtime/engine.h"

namespace brass {

struct Divergence {
  uint32_t positions = 0;
  double kl_sum = 0;      // of Σ p log(p ÷ q), natural logarithm; p: the base's distribution, q: the other's
  double kl_largest = 0;  // of one position
  uint32_t same_top = 0;  // positions at which both prefer the same token
  double mean_kl() const { return positions > 0 ? kl_sum / positions : 0; }
  double same_top_share() const { return positions > 0 ? static_cast<double>(same_top) / positions : 0; }
  void add(const Divergence& more);
};

// KL divergence of two distributions given as logits of the same length, in nats. Not negative but for rounding.
double kl_divergence(std::span<const float> base, std::span<const float> other);

// Of one text, from a cold start. Fails when it is longer than either context, when the vocabularies differ in size,
// or when a logit is not finite.
Result<Divergence> measure_divergence(Engine& base, Engine& other, std::span<const int32_t> ids);

}  // namespace brass
