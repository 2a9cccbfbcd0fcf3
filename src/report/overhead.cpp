#include "report/overhead.h"

#include <fmt/format.h>

namespace brass::report {

Interval overhead_share(const Overhead& overhead) {
  const Interval ratio = paired_ratio_interval(overhead.with, overhead.without);
  return {ratio.low - 1, ratio.middle - 1, ratio.high - 1};
}

std::string describe(const Overhead& overhead) {
  const Interval share = overhead_share(overhead);
  const char* verdict = share.high < kMostOverhead  ? "below 1 %"
                        : share.low > kMostOverhead ? "MORE THAN 1 %"
                                                    : "others disturbed it too much to say whether below 1 %";
  return fmt::format(
      "timing each token adds {:+.2f} % to a reply (95 %: {:+.2f} … {:+.2f} %, {} pairs in turns, with and "
      "without): {}; the clock's own cost says {:.4f} %",
      share.middle * 100, share.low * 100, share.high * 100, overhead.with.size(), verdict,
      overhead.clock_share * 100);
}

}  // namespace brass::report
