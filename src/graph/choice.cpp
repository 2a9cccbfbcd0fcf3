#include "graph/choice.h"

#include <algorithm>
#include <cmath>

namespace brass {

int64_t choice_of(std::span<const float> logits) {
  const auto fault = std::ranges::find_if_not(logits, [](float x) { return std::isfinite(x); });
  if (fault != logits.end()) return -1 - (fault - logits.begin());
  return std::ranges::max_element(logits) - logits.begin();
}

}  // namespace brass
