// What the operation choose makes of a row, for whoever computes it from the logits themselves.
#pragma once

#include <cstdint>
#include <span>

namespace brass {

// The number of the largest of the logits, the lowest of equal ones; where one is not finite, −1 − the number of the first
// such. There is at least one.
int64_t choice_of(std::span<const float> logits);

}  // namespace brass
