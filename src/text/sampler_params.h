// What a request may ask of sampling, and what it may not.
//
// Owns: the parameters, their defaults (those that llama.cpp's users expect) and the check of every field.
// Must not know: how a distribution is computed (sampler.h), where the values come from (flags, JSON).
// Invariants: a SamplingParams that passed validate() can not make a Sampler fail, allocate without bound or
// take more than linear time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"

namespace brass {

// "Don't repeat yourself" (p-e-w, text-generation-webui pull request 5677, 2024): a token that would make the
// end of the text repeat an earlier passage for `n` >= allowed_length tokens loses
// multiplier * base^(n - allowed_length).
struct DryParams {
  static constexpr int kMaxWindow = 1 << 16;
  static constexpr int kMaxBreakerLength = 32;
  static constexpr int kMaxBreakers = 1 << 16;

  float multiplier = 0.0f;  // logits; [0, 1e4]; 0 is off
  float base = 1.75f;       // [1, 1e3]
  int allowed_length = 2;   // tokens, >= 1: repeats shorter than this are free
  int penalty_last_n = -1;  // tokens looked back; -1: the last kMaxWindow; 0 is off
  // A repeat is not followed across one of these token sequences (line ends, quotes, turn markers).
  std::vector<std::vector<int32_t>> sequence_breakers;
};

// "Exclude top choices" (p-e-w, text-generation-webui pull request 6335, 2024): with `probability`, all
// tokens at or above `threshold` but the least likely of them are removed.
struct XtcParams {
  float probability = 0.0f;  // [0, 1]; 0 is off
  float threshold = 0.1f;    // [0, 0.5]: above 0.5 no two tokens could reach it
};

struct SamplingParams {
  static constexpr int kMaxWindow = 1 << 20;
  static constexpr float kMaxBias = 1e6f;

  float temperature = 0.8f;  // >= 0; 0 means greedy
  int top_k = 40;            // tokens kept, >= 0; 0 keeps all
  float top_p = 0.95f;       // [0, 1]; 1 keeps all, 0 keeps one
  float min_p = 0.05f;       // [0, 1]; 0 keeps all
  float typical_p = 1.0f;    // [0, 1]; 1 keeps all, 0 keeps one

  // The next three look at the last repeat_last_n accepted tokens, prompt included.
  int repeat_last_n = 64;          // tokens; -1: all of them; 0 is off
  float repeat_penalty = 1.0f;     // [0.01, 100]; 1 is off; divides positive logits, multiplies negative ones
  float frequency_penalty = 0.0f;  // logits for every occurrence, [-100, 100]
  float presence_penalty = 0.0f;   // logits once, [-100, 100]

  DryParams dry;
  XtcParams xtc;

  // Added to the logit of an id; [-kMaxBias, kMaxBias], or minus infinity to forbid the token. Entries of one
  // id add up.
  std::vector<std::pair<int32_t, float>> logit_bias;

  std::optional<uint64_t> seed;  // none: a random one is drawn (Sampler::seed says which)
  bool greedy = false;           // the highest logit after bias and penalties; filters and temperature unused
};

// The error names the field by the name above ("top_p: ...").
Result<> validate(const SamplingParams& params, int vocab_size);

}  // namespace brass
