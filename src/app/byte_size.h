// Sizes in bytes as people write them, and how much memory the machine has free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brass::app {

// "16GB", "900MB", "8GiB" of a flag.
Result<uint64_t> parse_byte_size(std::string_view flag, const std::string& text);

// Of the machine, as Linux counts it (MemAvailable of proc(5)); nothing where it does not say.
std::optional<uint64_t> free_memory();

}  // namespace brass::app
