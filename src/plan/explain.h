// Prints a plan: one line a step, totals, as text for people; the same as plain rows for programs.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace brass {

struct StepRow {
  std::string step, kernel, operands, rule;
  bool barrier;
  Cost cost;
};

// depth: positions cached before the step.
std::vector<StepRow> explain_rows(const Plan& plan, uint64_t t, uint64_t r, uint64_t depth);
std::string explain(const Plan& plan, uint64_t t, uint64_t r, uint64_t depth);

}  // namespace brass
