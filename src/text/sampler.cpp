#include "text/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"
#include "text/sampler_scan.h"

namespace brass {
namespace {

uint64_t random_seed() {
  uint64_t seed = 0;
  ENSURE(getentropy(&seed, sizeof seed) == 0, "the system has no random numbers");
  return seed;
}

const SamplingParams& checked(const SamplingParams& params, int vocab_size) {
  const auto valid = validate(params, vocab_size);
  ENSURE(valid.has_value(), "{}", valid.error().message);
  return params;
}

// 1 / temperature, finite even where the temperature is too small for that.
float heat_of(float temperature) {
  return temperature > 0 ? std::min(1.0f / temperature, std::numeric_limits<float>::max()) : 0.0f;
}

std::unexpected<Error> not_finite(int64_t id, float logit) {
  return fail_hint("the model file may be damaged, or this model overflows in this build's arithmetic",
                   "non-finite logits: the logit of token id {} is {}", id, logit);
}

std::vector<std::pair<int32_t, float>> merged(std::vector<std::pair<int32_t, float>> bias) {
  std::ranges::sort(bias);
  std::vector<std::pair<int32_t, float>> result;
  for (const auto& [id, value] : bias) {
    if (result.empty() || result.back().first != id)
      result.emplace_back(id, value);
    else
      result.back().second += value;
  }
  return result;
}

}  // namespace

Sampler::Sampler(const SamplingParams& params, int vocab_size)
    : params_(checked(params, vocab_size)),
      vocab_size_(static_cast<size_t>(vocab_size)),
      greedy_(params.greedy || params.temperature == 0.0f),
      heat_(heat_of(params.temperature)),
      seed_(params.seed ? *params.seed : random_seed()),
      rng_(seed_),
      bias_(merged(params.logit_bias)),
      penalties_(params, vocab_size),
      dry_(params.dry, vocab_size),
      adjusts_(!bias_.empty() || penalties_.enabled() || dry_.enabled()),
      candidates_(vocab_size) {
  const size_t blocks = scan_blocks(vocab_size_);
  block_max_.resize(blocks);
  block_rank_.resize(blocks);
  if (adjusts_) adjusted_.resize(vocab_size_);
  if (!greedy_ && params_.top_k == 0) {
    weights_.resize(vocab_size_);
    block_sum_.resize(blocks);
  }
}

void Sampler::accept(int32_t token) {
  ENSURE(token >= 0 && static_cast<size_t>(token) < vocab_size_, "token {} of {}", token, vocab_size_);
  penalties_.accept(token);
  dry_.accept(token);
}

void Sampler::reset() {
  penalties_.reset();
  dry_.reset();
  rng_ = Rng(seed_);
}

Result<int32_t> Sampler::sample(std::span<const float> logits, TokenMask mask) {
  TRY_VOID(prepare(logits, mask));
  if (greedy_) return best();
  if (narrow(toss_xtc(rng_))) {
    heat_candidates();
    return draw_candidate();
  }
  heat_all();
  return draw_any();
}

size_t Sampler::highest_wanted() const {
  if (adjusts_) return 0;
  return greedy_ ? 1 : std::min(static_cast<size_t>(params_.top_k), vocab_size_);
}

Result<int32_t> Sampler::sample_highest(std::span<const int32_t> ids, std::span<const float> logits) {
  ENSURE(highest_wanted() > 0 && logits.size() >= highest_wanted() && ids.size() == logits.size(),
         "{} logits with {} ids, of {} that count", logits.size(), ids.size(), highest_wanted());
  for (size_t i = 0; i < ids.size(); ++i)
    if (!std::isfinite(logits[i])) return not_finite(ids[i], logits[i]);
  max_ = maximum(logits);
  if (greedy_) return ids[static_cast<size_t>(std::ranges::find(logits, max_) - logits.begin())];
  const bool xtc = toss_xtc(rng_);
  auto& list = candidates_.list();
  list.clear();
  for (size_t i = 0; i < ids.size(); ++i)
    list.push_back({ids[i], logits[i], exp_nonpositive(logits[i] - max_)});
  filter(xtc, 0);
  heat_candidates();
  return draw_candidate();
}

Result<std::vector<TokenProbability>> Sampler::distribution(std::span<const float> logits, TokenMask mask) {
  TRY_VOID(prepare(logits, mask));
  if (greedy_) return std::vector<TokenProbability>{{best(), 1.0f}};
  Rng next = rng_;
  auto& list = candidates_.list();
  if (!narrow(toss_xtc(next))) collect_at_least(std::numeric_limits<float>::lowest());
  heat_candidates();
  std::ranges::sort(list, [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  });
  std::vector<TokenProbability> result;
  for (const Candidate& c : list) {
    const auto probability = static_cast<float>(c.weight / total_);
    if (probability > 0) result.push_back({c.id, probability});
  }
  return result;
}

// Steps 0 to 3 of the header's order.
Result<> Sampler::prepare(std::span<const float> logits, TokenMask mask) {
  ENSURE(logits.size() == vocab_size_, "{} logits for a vocabulary of {}", logits.size(), vocab_size_);
  ENSURE(mask.empty() || mask.size() == block_max_.size(), "a mask of {} words for a vocabulary of {}",
         mask.size(), vocab_size_);
  if (!mask.empty()) adjusted_.resize(vocab_size_);
  const bool copies = adjusts_ || !mask.empty();
  if (!scan_logits(logits, block_max_, copies ? adjusted_.data() : nullptr)) {
    const auto bad = std::ranges::find_if_not(logits, [](float x) { return std::isfinite(x); });
    return not_finite(bad - logits.begin(), *bad);
  }
  logits_ = copies ? std::span<const float>(adjusted_) : logits;
  if (!mask.empty()) {
    forbid(mask);
    if (std::isinf(maximum(block_max_))) return fail("mask: no token of the vocabulary is allowed");
  }
  if (adjusts_) adjust();
  max_ = maximum(block_max_);
  if (std::isinf(max_))
    return fail("logit_bias: every token {} is forbidden",
                mask.empty() ? "of the vocabulary" : "that the mask allows");
  return {};
}

// A word of the mask is a block of the scan, so blocks with all or nothing are done at once.
void Sampler::forbid(TokenMask mask) {
  static_assert(kScanBlock == 64);
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  for (size_t block = 0; block < mask.size(); ++block) {
    const size_t begin = block * kScanBlock;
    const size_t size = std::min(kScanBlock, vocab_size_ - begin);
    const std::span<float> part = std::span(adjusted_).subspan(begin, size);
    if (mask[block] == ~uint64_t{0}) continue;
    if (mask[block] == 0) {
      std::ranges::fill(part, kForbidden);
      block_max_[block] = kForbidden;
      continue;
    }
    for (size_t i = 0; i < size; ++i)
      if ((mask[block] >> i & 1) == 0) part[i] = kForbidden;
    block_max_[block] = maximum(part);
  }
}

void Sampler::adjust() {
  for (const auto& [id, bias] : bias_) adjusted_[static_cast<size_t>(id)] += bias;
  penalties_.apply(adjusted_);
  if (dry_.enabled()) dry_.apply(adjusted_);
  for (const auto& [id, bias] : bias_) refresh_blocks({&id, 1});
  refresh_blocks(penalties_.touched());
  refresh_blocks(dry_.touched());
}

void Sampler::refresh_blocks(std::span<const int32_t> ids) {
  for (const int32_t id : ids) {
    const size_t block = static_cast<size_t>(id) / kScanBlock;
    const size_t begin = block * kScanBlock;
    block_max_[block] = maximum(logits_.subspan(begin, std::min(kScanBlock, vocab_size_ - begin)));
  }
}

int32_t Sampler::best() const {
  const auto block = std::ranges::find(block_max_, max_) - block_max_.begin();
  const auto from = logits_.begin() + block * static_cast<std::ptrdiff_t>(kScanBlock);
  return static_cast<int32_t>(std::find(from, logits_.end(), max_) - logits_.begin());
}

bool Sampler::toss_xtc(Rng& rng) const {
  return params_.xtc.probability > 0 && rng.uniform() < params_.xtc.probability;
}

// Steps 4 to 8. False: nothing narrows the choice, and the candidate list is not made.
bool Sampler::narrow(bool xtc) {
  if (params_.top_k == 0 && params_.top_p == 1 && params_.min_p == 0 && params_.typical_p == 1 && !xtc)
    return false;
  filter(xtc, collect_first_filter());
  return true;
}

// `total`: the weight of the whole vocabulary, where top-p comes first.
void Sampler::filter(bool xtc, double total) {
  const auto& [top_k, top_p, min_p, typical] =
      std::tie(params_.top_k, params_.top_p, params_.min_p, params_.typical_p);
  if (top_k > 0) candidates_.top_k(static_cast<size_t>(top_k));
  if (typical < 1) candidates_.typical(typical);
  if (top_p < 1) {
    if (top_k > 0 || typical < 1) total = candidates_.total_weight();
    candidates_.top_p(top_p, total);
  }
  if (min_p > 0) candidates_.min_p(min_p);
  if (xtc) candidates_.xtc(params_.xtc.threshold);
}

// Makes the candidate list of all tokens that the first filter in use could keep, without a list of all
// tokens where that can be avoided. Returns the weight of the whole vocabulary if the first filter is top-p.
double Sampler::collect_first_filter() {
  double least = std::numeric_limits<float>::lowest();
  double total = 0;
  const auto k = static_cast<size_t>(params_.top_k);
  if (k > 0) {
    // The k-th highest block maximum is a logit, and k logits are at least as high.
    if (k <= block_max_.size()) {
      std::ranges::copy(block_max_, block_rank_.begin());
      std::ranges::nth_element(block_rank_, block_rank_.begin() + params_.top_k - 1, std::greater());
      least = std::max(least, static_cast<double>(block_rank_[k - 1]));
    }
  } else if (params_.typical_p < 1) {
    // Any token may be a typical one.
  } else if (params_.top_p < 1) {
    // The margins are for the rounding of sums and weights.
    total = exp_all(logits_, max_, 1.0f, weights_, block_sum_);
    const double weight = weight_of_mass(weights_, params_.top_p * total * (1 + 1e-9));
    if (weight > 0) least = max_ + std::log(weight) - 1e-3;
  } else if (params_.min_p > 0) {
    least = max_ + std::log(static_cast<double>(params_.min_p));
  }
  collect_at_least(least);
  return total;
}

void Sampler::collect_at_least(double logit) {
  auto& list = candidates_.list();
  list.clear();
  for (size_t block = 0; block < block_max_.size(); ++block) {
    if (block_max_[block] < logit) continue;
    const size_t end = std::min((block + 1) * kScanBlock, vocab_size_);
    for (size_t id = block * kScanBlock; id < end; ++id) {
      if (logits_[id] >= logit)
        list.push_back({static_cast<int32_t>(id), logits_[id], exp_nonpositive(logits_[id] - max_)});
    }
  }
}

// Step 9, for the candidates. From here on weights are relative to the highest that is left: at a low
// temperature all others could vanish beside one that a filter removed.
void Sampler::heat_candidates() {
  const float highest = candidates_.highest_logit();
  total_ = 0;
  for (Candidate& c : candidates_.list()) {
    c.weight = exp_nonpositive((c.logit - highest) * heat_);
    total_ += c.weight;
  }
}

void Sampler::heat_all() { total_ = exp_all(logits_, max_, heat_, weights_, block_sum_); }

// Step 10. The sums are of the same numbers in the same order as total_, but what is left of the draw may
// still round past the end: then the last that has any weight is it.
int32_t Sampler::draw_candidate() {
  double left = rng_.uniform() * total_;
  int32_t drawn = -1;
  for (const Candidate& c : candidates_.list()) {
    if (c.weight > 0) drawn = c.id;
    left -= c.weight;
    if (left < 0) break;
  }
  return drawn;
}

int32_t Sampler::draw_any() {
  double left = rng_.uniform() * total_;
  size_t block = 0, last = 0;
  for (size_t b = 0; b < block_sum_.size(); ++b) {
    if (block_sum_[b] > 0) last = b;
  }
  while (block < last && left >= block_sum_[block]) left -= block_sum_[block++];
  size_t drawn = vocab_size_;
  const size_t end = std::min((block + 1) * kScanBlock, vocab_size_);
  for (size_t id = block * kScanBlock; id < end; ++id) {
    if (weights_[id] > 0) drawn = id;
    left -= weights_[id];
    if (left < 0) break;
  }
  ENSURE(drawn < vocab_size_, "a block without weight was drawn");
  return static_cast<int32_t>(drawn);
}

}  // namespace brass
