#include "report/compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace brass::report {

Comparison compare_seconds(std::span<const double> a, std::span<const double> b, bool paired) {
  ENSURE(!a.empty() && !b.empty(), "nothing to compare");
  // Speed is 1 ÷ seconds, so B ÷ A of speeds is A ÷ B of seconds.
  const bool pairs = paired && a.size() == b.size();
  Comparison c{pairs ? paired_ratio_interval(a, b) : ratio_interval(a, b), Verdict::kNoDifference};
  if (std::min(a.size(), b.size()) < kFewestRounds)
    c.verdict = Verdict::kTooFewRounds;
  else if (c.ratio.low > 1)
    c.verdict = Verdict::kFaster;
  else if (c.ratio.high < 1)
    c.verdict = Verdict::kSlower;
  return c;
}

std::string describe(const Comparison& c) {
  const std::string interval = fmt::format("(95 %: {:.3f} … {:.3f})", c.ratio.low, c.ratio.high);
  switch (c.verdict) {
    case Verdict::kFaster:
    case Verdict::kSlower:
      return fmt::format("B is {:.3f} × as fast as A {}", c.ratio.middle, interval);
    case Verdict::kNoDifference:
      return fmt::format("no detectable difference {}", interval);
    case Verdict::kTooFewRounds:
      return fmt::format("too few rounds to say: {:.3f} ×, fewer than {} rounds on one side", c.ratio.middle,
                         kFewestRounds);
  }
  return {};
}

}  // namespace brass::report
