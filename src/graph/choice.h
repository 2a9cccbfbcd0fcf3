// What the operation choose makes of a row, for whoever computes it from the logits themselves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace brass {

// The number of the largest of the logits, the lowest of equal ones; where one is not finite, −1 − the number of the first
// such. There is at least one.
int64_t choice_of(std::span<const float> logits);

// The numbers of the `count` largest of them, in order of number: what is not finite counts as largest, and of equal ones
// the lower number comes first. There are as many.
std::vector<uint32_t> candidates_of(std::span<const float> logits, uint32_t count);

}  // namespace brass
