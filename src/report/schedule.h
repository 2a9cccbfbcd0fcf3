// How the seconds of a run are shared among what it measures, from a first look at how fast the machine is.
//
// Owns: how long the timed prompt is, how many tokens and rounds of decode there are. Must not know: devices, clocks.
// Invariants: pure arithmetic; with endless time nothing is left out; with too little, less is measured of everything,
// never nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace brass::report {

inline constexpr uint32_t kFewestPromptTokens = 16;

// Tokens of the prompt that is timed in rounds: `most`, halved until `runs` of them fit into `seconds`, or
// kFewestPromptTokens (or `most`, where that is less) is reached.
uint32_t prompt_tokens(double seconds_a_token, uint32_t runs, double seconds, uint32_t most);

struct DecodeRounds {
  std::vector<uint32_t> tokens;  // of each depth, in a round
  uint32_t rounds = 1;           // of `wanted`
};
// seconds_a_token: at each depth. A round has half a second of tokens at each depth, 8 to 32 of them; fewer where a
// round of that does not fit into `seconds`.
DecodeRounds decode_rounds(std::span<const double> seconds_a_token, uint32_t wanted, double seconds);

// Pairs of replies, each of `seconds_a_reply`, that fit into `seconds`, within [fewest, most].
uint32_t pairs_in(double seconds_a_reply, double seconds, uint32_t fewest, uint32_t most);

}  // namespace brass::report
