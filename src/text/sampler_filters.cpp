#include "text/sampler_filters.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"

namespace brass {

CandidateFilters::CandidateFilters(int vocab_size) {
  // Reserved, not filled: memory that a sampler's filters never reach is never touched.
  list_.reserve(static_cast<size_t>(vocab_size));
  ranked_.reserve(static_cast<size_t>(vocab_size));
}

template <class Score>
void CandidateFilters::rank(Score score) {
  ranked_.clear();
  for (const Candidate& c : list_) ranked_.push_back({score(c), c.id, c.weight});
}

template <class Keep>
void CandidateFilters::keep_if(Keep keep) {
  std::erase_if(list_, [&](const Candidate& c) { return !keep(c); });
  ENSURE(!list_.empty(), "a filter removed every candidate");
}

void CandidateFilters::top_k(size_t k) {
  if (list_.size() <= k) return;
  rank([](const Candidate& c) { return c.logit; });
  const auto last = ranked_.begin() + static_cast<std::ptrdiff_t>(k) - 1;
  std::nth_element(ranked_.begin(), last, ranked_.end(), std::mem_fn(&Ranked::better_than));
  const Ranked worst = *last;
  keep_if([&](const Candidate& c) { return !worst.better_than({c.logit, c.id, c.weight}); });
}

// The last of the best of ranked_ that together weigh at least `mass`: halving by selection, linear on
// average, instead of a sort.
CandidateFilters::Ranked CandidateFilters::end_of_mass(double mass) {
  auto first = ranked_.begin(), last = ranked_.end();
  double before = 0;  // the weight of all that is better than [first, last)
  while (last - first > 1) {
    const auto middle = first + (last - first) / 2;
    std::nth_element(first, middle, last, std::mem_fn(&Ranked::better_than));
    double half = 0;
    for (auto it = first; it != middle; ++it) half += it->weight;
    if (before + half >= mass) {
      last = middle;
    } else {
      before += half;
      first = middle;
    }
  }
  return *first;
}

void CandidateFilters::typical(float mass) {
  const double total = total_weight();
  // ln p = (logit - highest) - ln total, so surprise minus entropy is a difference of logits to their mean.
  const float highest = highest_logit();
  double mean = 0;
  for (const Candidate& c : list_)
    if (c.weight > 0) mean += c.weight * static_cast<double>(c.logit - highest);
  mean /= total;
  const auto score = [&](const Candidate& c) {
    return -std::abs(static_cast<double>(c.logit - highest) - mean);
  };
  rank(score);
  const Ranked worst = end_of_mass(mass * total);
  keep_if([&](const Candidate& c) { return !worst.better_than({score(c), c.id, c.weight}); });
}

void CandidateFilters::top_p(float mass, double total) {
  rank([](const Candidate& c) { return c.logit; });
  const Ranked worst = end_of_mass(mass * total);
  keep_if([&](const Candidate& c) { return !worst.better_than({c.logit, c.id, c.weight}); });
}

void CandidateFilters::min_p(float min_p) {
  const double least = highest_logit() + std::log(static_cast<double>(min_p));
  keep_if([&](const Candidate& c) { return c.logit >= least; });
}

void CandidateFilters::xtc(float threshold) {
  const double least = threshold * total_weight();
  Ranked spared{std::numeric_limits<double>::infinity(), -1, 0};  // the worst of the top choices
  for (const Candidate& c : list_) {
    const Ranked ranked{c.logit, c.id, c.weight};
    if (c.weight >= least && spared.better_than(ranked)) spared = ranked;
  }
  keep_if([&](const Candidate& c) { return c.weight < least || c.id == spared.id; });
}

double CandidateFilters::total_weight() const {
  double total = 0;
  for (const Candidate& c : list_) total += c.weight;
  return total;
}

float CandidateFilters::highest_logit() const {
  float highest = -std::numeric_limits<float>::infinity();
  for (const Candidate& c : list_) highest = std::max(highest, c.logit);
  return highest;
}

}  // namespace brass
