#include "report/overhead.h"

#include <fmt/format.h>

#include <cmath>

namespace brass::report {
namespace {

constexpr size_t kFewestPairs = 5;  // fewer cannot give a 95 % interval worth its name

}  // namespace

Interval overhead_share(const Overhead& overhead) {
  const Interval ratio = paired_ratio_interval(overhead.with, overhead.without);
  return {ratio.low - 1, ratio.middle - 1, ratio.high - 1};
}

std::string describe(const Overhead& overhead) {
  const Interval share = overhead_share(overhead);
  const char* verdict = overhead.with.size() < kFewestPairs ? "too few pairs to say whether below 1 %"
                        : share.low > kMostOverhead         ? "MORE THAN 1 %"
                        : std::abs(share.low) < kMostOverhead && share.high < kMostOverhead
                            ? "below 1 %"
                            : "others disturbed it too much to say whether below 1 %";
  return fmt::format(
      "timing each token adds {:+.2f} % to a reply (95 %: {:+.2f} … {:+.2f} %, {} pairs in turns, with and "
      "without): {}; the clock's own cost says {:.4f} %",
      share.middle * 100, share.low * 100, share.high * 100, overhead.with.size(), verdict,
      overhead.clock_share * 100);
}

}  // namespace brass::report
