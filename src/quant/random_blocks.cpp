#include "quant/random_blocks.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/rng.h"

namespace brass {

void random_blocks(const Format& format, std::byte* blocks, size_t n_values, uint64_t seed,
                   float typical_magnitude) {
  ENSURE(n_values % format.block_values == 0, "{} values of {}", n_values, format.name);
  const size_t bytes = row_bytes(format, n_values);
  Rng rng(seed);
  for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
    const uint64_t word = rng.next();
    std::memcpy(blocks + i, &word, std::min(sizeof word, bytes - i));
  }
  for (size_t i = 0; i < bytes; i += format.block_bytes) format.set_scale(blocks + i, typical_magnitude);
}

}  // namespace brass
