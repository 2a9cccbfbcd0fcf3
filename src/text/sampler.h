// From the logits of one position to the next token.
//
// Owns: the order of the operations, the random stream, and all buffers.
// Must not know: tokenizers, models, sessions, stop conditions.
// Invariants: nothing is allocated and no lock is taken after construction (distribution() aside, and one buffer
// by the first call with a mask); the same parameters (with seed), logits, masks and accepted tokens give the
// same tokens on every machine; equal logits are ordered by id, the lower first.
//
// The order, which is llama.cpp's default one, so that parameters published for a model mean here what they
// mean there:
//
//   0. the mask             what a grammar forbids has no logit (minus infinity) in all that follows
//   1. logit bias           a wish about single tokens, stated in the model's own units
//   2. repetition,          they judge the text, so they come before the choice is narrowed: a penalized
//   token
//      frequency, presence  must be able to fall out of the top k
//   3. DRY
//   4. top-k                cheap, so first of the filters; all later ones see only what it leaves
//   5. typical
//   6. top-p                the masses of 5, 6 and 8 are shares of what the filters before them left
//   7. min-p
//   8. XTC                  after the filters, so that what it promotes is still plausible
//   9. temperature          last, so that filters judge the model's own distribution at any temperature
//  10. draw
//
// Greedy (`greedy`, or temperature 0) is 0 to 3 and then the highest logit: filters can not remove it, except
// XTC, which contradicts greedy and is not applied.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/rng.h"
#include "text/sampler_filters.h"
#include "text/sampler_params.h"
#include "text/sampler_penalties.h"

namespace brass {

// Which tokens may be drawn: bit id % 64 of word id / 64; [ceil(vocab_size / 64)] words, or none: all of them. Bits
// beyond the vocabulary have no say.
using TokenMask = std::span<const uint64_t>;

struct TokenProbability {
  int32_t id;
  float probability;
};

class Sampler {
 public:
  // `params` have passed validate(params, vocab_size).
  Sampler(const SamplingParams& params, int vocab_size);

  // The next token. logits: [vocab_size]. Errors: a logit that is NaN or infinite (its id is named: the model
  // computed nonsense), a mask that allows no token, or a bias that forbids every token (that the mask allows).
  Result<int32_t> sample(std::span<const float> logits, TokenMask mask = {});

  // How many of the highest logits are all that sample() looks at where no mask is given, whatever the text; 0: any can
  // count. 1: it returns the highest, always.
  size_t highest_wanted() const;

  // As sample(), from at least so many of the highest (of equal ones those of lower id; what is not finite is the highest of
  // all) with their ids, in ascending order of id: the same token, or error, as from all.
  Result<int32_t> sample_highest(std::span<const int32_t> ids, std::span<const float> logits);

  // Tells the penalties what was appended to the text: every token of the prompt, then every sampled one.
  void accept(int32_t token);

  // As constructed: the text forgotten, the random stream at its start.
  void reset();

  // What the next sample() draws from: the tokens that can be drawn, likeliest first. Uses up no randomness
  // (XTC's coin is the one that the next sample() will toss).
  Result<std::vector<TokenProbability>> distribution(std::span<const float> logits, TokenMask mask = {});

  // The seed in use: the one given, or the one drawn at construction.
  uint64_t seed() const { return seed_; }

 private:
  Result<> prepare(std::span<const float> logits, TokenMask mask);
  void forbid(TokenMask mask);
  void adjust();
  void refresh_blocks(std::span<const int32_t> ids);
  int32_t best() const;
  bool toss_xtc(Rng& rng) const;
  bool narrow(bool xtc);
  void filter(bool xtc, double total);
  double collect_first_filter();
  void collect_at_least(double logit);
  void heat_candidates();
  void heat_all();
  int32_t draw_candidate();
  int32_t draw_any();

  const SamplingParams params_;
  const size_t vocab_size_;
  const bool greedy_;
  const float heat_;  // 1 / temperature
  const uint64_t seed_;
  Rng rng_;

  std::vector<std::pair<int32_t, float>> bias_;  // one entry an id
  RepetitionPenalties penalties_;
  DryPenalty dry_;
  const bool adjusts_;  // one of the three above can change logits

  // State of one call.
  std::span<const float> logits_;  // the caller's, or adjusted_
  std::vector<float> adjusted_;    // [vocab], where anything can change logits, or a mask was given
  std::vector<float> block_max_;   // of logits_; a block is kScanBlock tokens
  std::vector<float> block_rank_;  // scratch for selection among block_max_
  float max_ = 0;                  // of logits_
  CandidateFilters candidates_;
  std::vector<float> weights_;     // [vocab], where the whole vocabulary may be weighed
  std::vector<double> block_sum_;  // of weights_
  double total_ = 0;               // the weight of all that is drawn from
};

}  // namespace brass
