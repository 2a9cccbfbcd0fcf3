#include "report/phases.h"

#include "base/check.h"

namespace brass::report {

double Phases::prefill_share() const { return total() > 0 ? prefill / total() : 0; }

Phases phases_at(double prompt_tokens, double reply_tokens, double prefill_tps, double decode_tps) {
  ENSURE(prefill_tps > 0 && decode_tps > 0, "rates {} and {}", prefill_tps, decode_tps);
  return {prompt_tokens / prefill_tps, reply_tokens / decode_tps};
}

std::optional<double> crossover(double prefill_tps, double decode_tps) {
  if (!(prefill_tps > 0) || !(decode_tps > 0)) return std::nullopt;
  return prefill_tps / decode_tps;
}

double saved_by_prefill(const Phases& phases, double factor) { return phases.prefill * (1 - 1 / factor); }
double saved_by_decode(const Phases& phases, double factor) { return phases.decode * (1 - 1 / factor); }

}  // namespace brass::report
