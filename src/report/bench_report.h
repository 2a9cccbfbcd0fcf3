// All that a run of the bench found out, as plain data: what is printed, written as JSON and drawn is this.
//
// Owns: the report's shape and its renderings (bench_text, bench_json, bench_html). Must not know: engines, clocks.
// Invariants: a report may be partial (`stopped` says why): what is missing is absent, never zero; every figure
// that was composed and not measured says so where it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/compare.h"
#include "report/compose.h"
#include "report/figure.h"
#include "report/ledger.h"
#include "report/levers.h"
#include "report/overhead.h"
#include "report/served.h"

namespace brass::report {

struct Fact {
  std::string key, value;
};
// Facts that must be equal for two reports to be compared quietly.
inline constexpr const char* kIdentity[] = {"weights sha256", "prompt sha256", "device", "driver"};

// Measured at one depth: positions cached before.
struct DepthRow {
  uint32_t depth = 0;
  std::vector<double> decode;       // seconds a token, one a round
  std::vector<double> ttft_cached;  // seconds, the prefix cached
  std::optional<double> ttft_warm;  // seconds, nothing cached: the whole prompt of this depth
  double disturbance = 0;           // largest share of the processors that other programs took in a round
};

struct MeasuredWorkload {
  Phases phases;
  double ttft = 0;                                           // to the first visible text
  double latency_p50 = 0, latency_p95 = 0, latency_p99 = 0;  // between tokens
  uint32_t repetitions = 1;
};

struct WorkloadRow {
  Workload workload;
  std::optional<Phases> composed, composed_cached;  // cached: all of the prompt but its last token
  std::optional<MeasuredWorkload> measured;
  std::optional<Phases> measured_cached;  // of a server: the same prompt again
  bool extrapolated = false;
  bool fits = true;  // in the context that is open
  // What is shown: measured where it was, else composed.
  std::optional<Phases> best() const, cached() const;
};

// Where requests of a file sit: their crossover ratio and what the levers of Amdahl would give over all of them.
struct LoggedRequests {
  std::string file;
  uint64_t count = 0, prefill_bound = 0;  // requests in all; with more prefill than decode
  Phases phases;                          // summed
};

struct BenchReport {
  std::vector<Fact> head;
  std::string stopped;  // "": complete
  Speed speed;
  std::vector<DepthRow> depths;
  std::vector<double> headline_prefill;  // seconds of a prompt of headline_prompt tokens, one a round
  uint32_t headline_prompt = 0;
  std::optional<double> cold_ttft;  // of the same prompt, the first after loading
  std::vector<WorkloadRow> workloads;
  std::optional<LoggedRequests> logged;
  std::vector<ServedLevel> served;  // of a server, seen from outside
  std::optional<Overhead> overhead;
  std::optional<Ledger> ledger;
  double prefill_flops = 0, prefill_bytes = 0;  // a prompt token, in chunks as they run
  DeviceRates rates;
  std::optional<PhaseCeiling> prefill_ceiling, decode_ceiling;
  std::vector<StepLoss> losses;
  std::vector<Lever> levers;
  std::string lever_workload;
  std::vector<std::string> notes;

  std::string model() const;
  // tokens a second of the headline prompt, and behind an empty context
  std::optional<double> prefill_tps() const, decode_tps() const;
  // The prompt : reply ratio at which the phases are equal: from those two rates, and from a prompt of the deepest
  // depth that both curves reach and the decode rate there.
  std::optional<double> shallow_crossover() const;
  struct DeepCrossover {
    double depth, ratio;
  };
  std::optional<DeepCrossover> deep_crossover() const;
};

Figure report_figure(const BenchReport& report);
std::string report_text(const BenchReport& report, int width, bool colour);
std::string report_json(const BenchReport& report);
std::string report_html(const BenchReport& report);

}  // namespace brass::report
