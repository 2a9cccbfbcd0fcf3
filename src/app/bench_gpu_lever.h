// The lever "more layers on a GPU": what both phases would take where a GPU does more of the model's blocks.
//
// Owns: which blocks go over, the rates of both devices, the factor between now and then. Must not know: how levers are
// listed, printed or put to the test.
// Invariants: nothing of what is predicted is run: the factor is made of both plans' bytes and flops and of probes.
#pragma once

#include "app/bench_meter.h"
#include "report/bench_report.h"
#include "report/levers.h"

namespace brass::app {

struct GpuLever {
  report::Lever lever;  // its outcome is made of speed
  report::Speed speed;  // then
  ModelFlags flags;     // what runs it
};

// `now`: the flags of the run that `report` holds, measured on `meter`. depth: where decode is judged. A lever that cannot be
// predicted here says why (Lever::unavailable), and has no flags.
Result<GpuLever> more_gpu_layers(const ModelFlags& now, Meter& meter, const report::BenchReport& report,
                                 uint64_t depth);

}  // namespace brass::app
