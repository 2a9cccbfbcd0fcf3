// What measuring costs: the same reply with and without the clock that reads each token's time, in turns.
//
// Owns: the share, its interval, what is said of it. Must not know: clocks, engines.
// Invariants: "below 1 %" is said only where the whole interval lies within 1 % of nothing: one that says that measuring
// made it faster is noise.
#pragma once

#include <string>
#include <vector>

#include "report/statistics.h"

namespace brass::report {

struct Overhead {
  std::vector<double> with, without;  // seconds of the same reply, one a round; at least one
  double clock_share = 0;             // of a token's time, as the cost of a reading says
};

inline constexpr double kMostOverhead = 0.01;

// with ÷ without − 1, and its 95 % bootstrap interval over the rounds.
Interval overhead_share(const Overhead& overhead);
// "+0.04 % (95 %: −0.21 … +0.30 %, 24 pairs in turns): below 1 %; …"
std::string describe(const Overhead& overhead);

}  // namespace brass::report
