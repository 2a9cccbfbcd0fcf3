// From the executed plan to the report's ledger, and from timed steps to what each loses.
#pragma once

#include "app/bench_meter.h"
#include "report/ledger.h"

namespace brass::app {

// Of one decoded token behind `depth` cached positions. The weights' bytes add up to those of plan_cost().
report::Ledger make_ledger(const Plan& plan, uint64_t depth);

// Steps of decoded tokens behind a kept prefix, timed one by one, layers added up; the `most` that lose most.
Result<std::vector<report::StepLoss>> find_losses(Meter& meter, SequenceId kept,
                                                  const report::DeviceRates& rates, size_t most);

}  // namespace brass::app
