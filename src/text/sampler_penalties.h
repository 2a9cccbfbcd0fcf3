// What the text so far does to the next logits: repetition, frequency and presence penalties, and DRY.
//
// Owns: the counts of the recent tokens and the window in which repeats are sought.
// Must not know: the filters, the temperature, the random numbers.
// Invariants: nothing is allocated after construction; accept() takes constant time (plus the breakers that
// end in the accepted token); RepetitionPenalties::apply is linear in the distinct tokens of its window and
// touches only them, DryPenalty::apply is linear in its window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "text/sampler_params.h"

namespace brass {

// Repetition (Keskar et al. 2019, "CTRL", section 4.1, with the sign rule that later became usual), frequency
// and presence penalties over the last repeat_last_n tokens.
class RepetitionPenalties {
 public:
  RepetitionPenalties(const SamplingParams& params, int vocab_size);

  bool enabled() const { return enabled_; }
  void accept(int32_t token);
  void reset();

  // logits: one a token of the vocabulary.
  void apply(std::span<float> logits) const;
  std::span<const int32_t> touched() const { return seen_; }

 private:
  void forget(int32_t token);

  bool enabled_;
  float repeat_, frequency_, presence_;
  std::vector<int32_t> window_;  // a ring of the last repeat_last_n tokens; empty: nothing is ever forgotten
  size_t head_ = 0, filled_ = 0;
  std::vector<int32_t> count_;  // by token: occurrences in the window
  std::vector<int32_t> seen_;   // the tokens with count > 0, in no order
  std::vector<int32_t> place_;  // by token: its index in seen_
};

class DryPenalty {
 public:
  DryPenalty(const DryParams& params, int vocab_size);

  bool enabled() const { return enabled_; }
  void accept(int32_t token);
  void reset();

  // logits: one a token of the vocabulary.
  void apply(std::span<float> logits);
  // The tokens that the last apply() penalized.
  std::span<const int32_t> touched() const { return touched_; }

 private:
  struct Breaker {
    int32_t last;          // the token it ends in
    uint32_t first, size;  // its place in breaker_tokens_
  };
  bool ends_in_breaker(int32_t token) const;
  int32_t recent(size_t back) const {  // 0: the token accepted last
    return window_[(head_ + window_.size() - 1 - back) % window_.size()];
  }

  bool enabled_;
  float multiplier_, base_;
  int32_t allowed_length_;
  std::vector<Breaker> breakers_;  // sorted by last
  std::vector<int32_t> breaker_tokens_;
  std::vector<int32_t> window_;  // a ring
  size_t head_ = 0, filled_ = 0;
  size_t since_breaker_ = 0;       // tokens accepted after the latest breaker
  std::vector<int32_t> reversed_;  // scratch: the window, latest token first
  std::vector<int32_t> match_;     // scratch: length of the repeat that begins there
  std::vector<int32_t> longest_;   // by token: the longest repeat that it would continue; 0 between calls
  std::vector<int32_t> touched_;
};

}  // namespace brass
