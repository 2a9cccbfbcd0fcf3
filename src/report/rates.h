// The two numbers of a generation.
//
// Owns: their definitions.
// Must not know: clocks, sessions.
#pragma once

#include <cstdint>
#include <optional>

namespace brass::report {

// Prompt tokens that were computed (not taken from a cache) for each second of prefill. Nothing where nothing
// was computed or no time passed.
std::optional<double> prefill_tps(int64_t prompt_tokens, int64_t cached_tokens, double prefill_seconds);

// (tokens - 1) / (t_last - t_first): the first token belongs to prefill, so it starts the clock and is not
// counted. Times in seconds. Nothing for fewer than two tokens.
std::optional<double> decode_tps(int64_t tokens, double t_first, double t_last);

}  // namespace brass::report
