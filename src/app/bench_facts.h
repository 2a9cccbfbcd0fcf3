// The head of a report: everything that a figure depends on and that is not a measurement.
#pragma once

#include "app/bench_meter.h"
#include "report/bench_report.h"

namespace brass::app {

Result<std::vector<report::Fact>> head_facts(Meter& meter, const ModelFlags& flags);
// What stands between this program and the device: two runs with different drivers are not compared quietly.
Result<std::string> driver_text(Meter& meter, const ModelFlags& flags);
// How well the clock could see: resolution, what measuring cost, rounds, neighbours.
void add_noise_facts(report::BenchReport& report, uint32_t rounds, std::optional<double> neighbours,
                     double timer_cost);
// SHA-256 of the bytes of all tensors, in the order of the file.
std::string weights_sha256(const gguf::File& file);

}  // namespace brass::app
