// Random weights in any format, for tests, benchmarks and synthetic models.
//
// Owns: drawing them. Must not know: any format's layout (Format::set_scale sets the scales).
// Invariants: every value is finite; the same seed gives the same bytes everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/format.h"

namespace brass {

// Fills n_values / block_values blocks (n_values: a multiple of block_values) with random codes under scales
// that give values of a root mean square of about `typical_magnitude`: finite, > 0, and well inside what the
// scales hold (1e-3 … 100; NVFP4, whose smallest scale is 2^-9, from 0.01 on).
void random_blocks(const Format& format, std::byte* blocks, size_t n_values, uint64_t seed,
                   float typical_magnitude);

}  // namespace brass
