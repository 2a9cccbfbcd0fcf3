// Two runs side by side: is one faster, or can nobody tell?
//
// Owns: the verdict from paired or unpaired rounds. Must not know: what was run.
// Invariants: "no detectable difference" is an answer, given whenever the 95 % interval of the ratio holds 1.
#pragma once

#include <span>
#include <string>

#include "report/statistics.h"

namespace brass::report {

enum class Verdict { kFaster, kSlower, kNoDifference, kTooFewRounds };

struct Comparison {
  Interval ratio;  // of speeds, B ÷ A
  Verdict verdict;
};

inline constexpr size_t kFewestRounds = 5;  // fewer cannot give a 95 % interval worth its name

// Seconds of each round. `paired`: a[i] and b[i] were measured in turns.
Comparison compare_seconds(std::span<const double> a, std::span<const double> b, bool paired);
// "B is 1.08 × as fast as A (95 %: 1.05 … 1.11)", "no detectable difference (95 %: 0.97 … 1.02)"
std::string describe(const Comparison& comparison);

}  // namespace brass::report
