// The two numbers of a generation.
//
// Owns: their definitions; whatever prints a rate of tokens asks here.
// Must not know: clocks, sessions.
#pragma once

#include <cstdint>
#include <optional>

namespace brass::report {

// Prompt tokens that were computed (not taken from a cache) for each second of prefill. Nothing where nothing
// was computed or no time passed.
std::optional<double> prefill_tps(int64_t prompt_tokens, int64_t cached_tokens, double prefill_seconds);

// Tokens for each second from the first one to the last: the first belongs to prefill, so it starts the clock
// and is not counted. Nothing for fewer than two tokens, or where no time passed.
std::optional<double> decode_tps(int64_t tokens, double seconds_from_first_to_last);

}  // namespace brass::report
