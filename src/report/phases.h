// The two phases of a request and what speeding one of them up is worth (Amdahl 1967).
//
// Owns: phase shares, the crossover, seconds saved. Must not know: how the seconds came about.
// Invariants: pure arithmetic; times are in seconds, rates in tokens a second, none negative.
#pragma once

#include <optional>

namespace brass::report {

struct Phases {
  double prefill = 0, decode = 0;  // seconds
  double total() const { return prefill + decode; }
  // Prefill's part of the whole, in [0, 1]; 0 where there is no time.
  double prefill_share() const;
};

// At constant rates.
Phases phases_at(double prompt_tokens, double reply_tokens, double prefill_tps, double decode_tps);

// The prompt : reply ratio at which both phases take equal time.
std::optional<double> crossover(double prefill_tps, double decode_tps);

// Seconds that go away when a phase becomes `factor` times as fast.
double saved_by_prefill(const Phases& phases, double factor);
double saved_by_decode(const Phases& phases, double factor);

}  // namespace brass::report
