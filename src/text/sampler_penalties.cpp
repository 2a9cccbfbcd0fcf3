#include "text/sampler_penalties.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace brass {
namespace {

// Penalties may push a logit past the range of float; it then stays a finite number, so that minus infinity
// keeps its one meaning (forbidden).
float clamp_finite(double logit) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(logit, -kMax, kMax));
}

}  // namespace

RepetitionPenalties::RepetitionPenalties(const SamplingParams& params, int vocab_size)
    : enabled_(params.repeat_last_n != 0 &&
               (params.repeat_penalty != 1.0f || params.frequency_penalty != 0.0f ||
                params.presence_penalty != 0.0f)),
      repeat_(params.repeat_penalty),
      frequency_(params.frequency_penalty),
      presence_(params.presence_penalty) {
  if (!enabled_) return;
  if (params.repeat_last_n > 0) window_.resize(static_cast<size_t>(params.repeat_last_n));
  count_.resize(static_cast<size_t>(vocab_size));
  place_.resize(static_cast<size_t>(vocab_size));
  seen_.reserve(static_cast<size_t>(vocab_size));
}

void RepetitionPenalties::accept(int32_t token) {
  if (!enabled_) return;
  if (!window_.empty()) {
    if (filled_ == window_.size()) forget(window_[head_]);
    window_[head_] = token;
    head_ = (head_ + 1) % window_.size();
    filled_ = std::min(filled_ + 1, window_.size());
  }
  if (count_[token]++ == 0) {
    place_[token] = static_cast<int32_t>(seen_.size());
    seen_.push_back(token);
  }
}

void RepetitionPenalties::forget(int32_t token) {
  if (--count_[token] != 0) return;
  const int32_t moved = seen_.back();
  seen_[place_[token]] = moved;
  place_[moved] = place_[token];
  seen_.pop_back();
}

void RepetitionPenalties::reset() {
  for (const int32_t token : seen_) count_[token] = 0;
  seen_.clear();
  head_ = filled_ = 0;
}

void RepetitionPenalties::apply(std::span<float> logits) const {
  const double repeat = repeat_, frequency = frequency_, presence = presence_;
  for (const int32_t token : seen_) {
    const double logit = logits[token];
    if (std::isinf(logit)) continue;  // forbidden stays forbidden
    const double repeated = logit > 0 ? logit / repeat : logit * repeat;
    logits[token] = clamp_finite(repeated - count_[token] * frequency - presence);
  }
}

DryPenalty::DryPenalty(const DryParams& params, int vocab_size)
    : enabled_(params.multiplier > 0.0f && params.penalty_last_n != 0),
      multiplier_(params.multiplier),
      base_(params.base),
      allowed_length_(params.allowed_length) {
  if (!enabled_) return;
  for (const auto& sequence : params.sequence_breakers) {
    breakers_.push_back({sequence.back(), static_cast<uint32_t>(breaker_tokens_.size()),
                         static_cast<uint32_t>(sequence.size())});
    breaker_tokens_.insert(breaker_tokens_.end(), sequence.begin(), sequence.end());
  }
  std::ranges::sort(breakers_, {}, &Breaker::last);
  const int window = params.penalty_last_n > 0 ? params.penalty_last_n : DryParams::kMaxWindow;
  // A breaker that began before the window must still be seen to end in it.
  window_.resize(static_cast<size_t>(std::max(window, DryParams::kMaxBreakerLength)));
  reversed_.resize(static_cast<size_t>(window));
  match_.resize(static_cast<size_t>(window));
  longest_.resize(static_cast<size_t>(vocab_size));
  touched_.reserve(static_cast<size_t>(window));
}

bool DryPenalty::ends_in_breaker(int32_t token) const {
  for (const Breaker& breaker : std::ranges::equal_range(breakers_, token, {}, &Breaker::last)) {
    if (breaker.size > filled_) continue;
    bool equal = true;
    for (uint32_t back = 0; equal && back < breaker.size; ++back)
      equal = breaker_tokens_[breaker.first + breaker.size - 1 - back] == recent(back);
    if (equal) return true;
  }
  return false;
}

void DryPenalty::accept(int32_t token) {
  if (!enabled_) return;
  window_[head_] = token;
  head_ = (head_ + 1) % window_.size();
  filled_ = std::min(filled_ + 1, window_.size());
  since_breaker_ = ends_in_breaker(token) ? 0 : since_breaker_ + 1;
}

void DryPenalty::reset() { head_ = filled_ = since_breaker_ = 0; }

// With the window read backwards, a repeat of the text's end is a common prefix of the whole and of what
// starts at i: the Z function (Gusfield 1997, section 1.4), linear in the window. Prefixes are cut at the
// latest breaker.
void DryPenalty::apply(std::span<float> logits) {
  touched_.clear();
  const size_t n = std::min(filled_, reversed_.size());
  const size_t limit = std::min(n, since_breaker_);
  if (limit < static_cast<size_t>(allowed_length_)) return;
  for (size_t i = 0; i < n; ++i) reversed_[i] = recent(i);

  size_t left = 0, right = 0;  // [left, right) is the match that reaches furthest
  for (size_t i = 1; i < n; ++i) {
    size_t length = i < right ? std::min(static_cast<size_t>(match_[i - left]), right - i) : 0;
    while (length < limit && i + length < n && reversed_[length] == reversed_[i + length]) ++length;
    if (i + length > right) left = i, right = i + length;
    match_[i] = static_cast<int32_t>(length);

    const int32_t next = reversed_[i - 1];  // what followed the earlier passage
    if (match_[i] < allowed_length_) continue;
    if (longest_[next] == 0) touched_.push_back(next);
    longest_[next] = std::max(longest_[next], match_[i]);
  }
  for (const int32_t token : touched_) {
    const double penalty =
        multiplier_ * std::pow(static_cast<double>(base_), longest_[token] - allowed_length_);
    longest_[token] = 0;
    if (!std::isinf(logits[token])) logits[token] = clamp_finite(logits[token] - penalty);
  }
}

}  // namespace brass
