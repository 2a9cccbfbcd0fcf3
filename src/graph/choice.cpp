#include "graph/choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace brass {

int64_t choice_of(std::span<const float> logits) {
  const auto fault = std::ranges::find_if_not(logits, [](float x) { return std::isfinite(x); });
  if (fault != logits.end()) return -1 - (fault - logits.begin());
  return std::ranges::max_element(logits) - logits.begin();
}

std::vector<uint32_t> candidates_of(std::span<const float> logits, uint32_t count) {
  std::vector<uint32_t> numbers(logits.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto comes_first = [&](uint32_t a, uint32_t b) {
    const bool finite_a = std::isfinite(logits[a]), finite_b = std::isfinite(logits[b]);
    if (!finite_a || !finite_b) return finite_a == finite_b ? a < b : !finite_a;
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  };
  std::ranges::nth_element(numbers, numbers.begin() + (count - 1), comes_first);
  numbers.resize(count);
  std::ranges::sort(numbers);
  return numbers;
}

}  // namespace brass
