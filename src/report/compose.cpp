#include "report/compose.h"

#include <algorithm>

#include "base/check.h"

namespace brass::report {

Phases compose(const Speed& speed, uint32_t prompt, uint32_t reply, uint32_t cached) {
  ENSURE(cached < prompt && reply > 0, "{} of {} tokens cached, reply of {}", cached, prompt, reply);
  Phases phases;
  // A step of few rows costs as much as one of a single row, which is what decode measures.
  phases.prefill =
      std::max(speed.prefill.sum(cached, prompt) + speed.first_token, speed.decode.at(prompt - 1));
  phases.decode = speed.decode.sum(prompt, prompt + reply - 1);
  return phases;
}

bool extrapolated(const Speed& speed, const Workload& w) {
  return speed.prefill.extrapolates(w.prompt) || speed.decode.extrapolates(w.positions());
}

}  // namespace brass::report
