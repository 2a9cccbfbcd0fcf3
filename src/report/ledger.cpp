#include "report/ledger.h"

#include <algorithm>

namespace brass::report {

uint64_t Ledger::weight_bytes() const {
  uint64_t total = 0;
  for (const LedgerRow& row : weights) total += row.bytes;
  return total;
}

std::optional<double> least_seconds(double bytes, double ops, const DeviceRates& rates) {
  if (!rates.bandwidth && !rates.int8_ops) return std::nullopt;
  const double memory = rates.bandwidth ? bytes / *rates.bandwidth : 0;
  const double arithmetic = rates.int8_ops ? ops / *rates.int8_ops : 0;
  return std::max(memory, arithmetic);
}

double bandwidth_ceiling_tps(double bytes_a_token, double bandwidth) { return bandwidth / bytes_a_token; }

std::optional<PhaseCeiling> phase_ceiling(double bytes, double ops, const DeviceRates& rates,
                                          double achieved_tps) {
  const auto least = least_seconds(bytes, ops, rates);
  if (!least || !(*least > 0)) return std::nullopt;
  const bool memory = rates.bandwidth && bytes / *rates.bandwidth >= *least;
  return PhaseCeiling{memory ? "bandwidth" : "arithmetic", 1 / *least, achieved_tps};
}

}  // namespace brass::report
