// What `brass bench MODEL` measures, in which order, and how much of it fits into the time that there is.
//
// Owns: the course of a run: warm-up, probes, curves over depth, workloads. Must not know: how a report looks.
// Invariants: a run that is interrupted returns what it has, and says where it stopped; a workload that was not run is
// composed and marked; depths take turns, so that all meet the same state of the machine.
#pragma once

#include <chrono>

#include "app/bench_meter.h"
#include "report/bench_report.h"
#include "report/schedule.h"

namespace brass::app {

struct BenchPlan {
  double seconds = 95;  // for all measuring; infinite: everything is measured
  uint32_t rounds = 5;
  uint32_t deepest = 32768;                 // positions
  std::vector<report::Workload> workloads;  // that the report shows
  bool measure_workloads = true;            // else they are composed only
};

// A bar on standard error while it goes on, with the time that is left.
class BenchProgress {
 public:
  explicit BenchProgress(double seconds) : begin_(Clock::now()), planned_(seconds) {}
  ~BenchProgress() { clear(); }
  BenchProgress(const BenchProgress&) = delete;
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  // `left`: seconds still to come of this part, where the plan has no end.
  void say(const std::string& what, std::optional<double> left = {});
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  double planned_;
  bool drawn_ = false;
};

// A meter whose context holds the plan's depths and workloads, as far as model, flags and memory allow. `model`: the one
// that the flags name.
Result<std::unique_ptr<Meter>> open_for(const ModelFlags& flags, std::unique_ptr<Model> model,
                                        const BenchPlan& plan);

class Measurement {
 public:
  Measurement(Meter& meter, const BenchPlan& plan, BenchProgress& progress)
      : meter_(meter), plan_(plan), progress_(progress) {}

  // Everything; `report` has what was found even when an error ends it.
  Result<> run(const ModelFlags& flags, report::BenchReport& report);

  // Parts of it, for other commands.
  Result<> probe(report::BenchReport& report);
  Result<> curves(report::BenchReport& report);
  // Nothing where Ctrl-C ended the first one.
  Result<std::optional<report::MeasuredWorkload>> workload(const report::Workload& w, uint32_t repetitions);
  // A prefix of `depth` tokens that curves() kept, the deepest one that is not deeper.
  SequenceId kept(uint32_t depth) const;
  bool has_kept() const { return !kept_.empty(); }  // else the context is too short for any

 private:
  Result<double> first_look(report::BenchReport& report);
  Result<> headline(report::BenchReport& report);
  Result<> walk(report::BenchReport& report);
  Result<double> walk_to(report::BenchReport& report, SequenceId base, uint32_t at, uint32_t depth);
  Result<report::DecodeRounds> warm_up(report::BenchReport& report);
  Result<> decode_rounds(report::BenchReport& report);
  Result<Request> reply_at(size_t row, uint32_t tokens, TokenClock clock = TokenClock::kOn);
  Result<> overhead(report::BenchReport& report);
  Result<> workloads(report::BenchReport& report);
  Result<> ledger(report::BenchReport& report);
  bool stop(report::BenchReport& report, const char* when) const;
  std::vector<uint32_t> depths() const;
  std::optional<double> in_all(double seconds) const;
  double left() const { return plan_.seconds - progress_.elapsed(); }

  Meter& meter_;
  BenchPlan plan_;
  BenchProgress& progress_;
  std::vector<report::CurvePoint> prefill_points_;
  std::vector<uint32_t> reply_tokens_;                 // of a round of decode, by row of the report's depths
  std::vector<std::pair<uint32_t, SequenceId>> kept_;  // depth, sequence
};

}  // namespace brass::app
