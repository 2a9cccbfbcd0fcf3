// brass bench MODEL: the report.
#include <algorithm>
#include <limits>

#include "app/bench_flags.h"
#include "app/bench_levers.h"
#include "app/bench_measure.h"
#include "app/bench_requests.h"
#include "app/terminal.h"

namespace brass::app {
namespace {

constexpr uint32_t kLeastContext = 1024;  // a GPU must have room for that, to be the device that is meant

Result<BenchPlan> plan_of(const BenchFlags& flags) {
  BenchPlan plan;
  if (flags.seconds > 0) plan.seconds = flags.seconds;
  if (flags.full) plan.seconds = std::numeric_limits<double>::infinity();
  if (flags.full && flags.seconds > 0)
    return wrong_use("flag --seconds: --full takes the time that it takes");
  plan.rounds = flags.rounds > 0 ? flags.rounds : flags.full ? 7 : 5;
  for (const std::string& text : flags.workloads) plan.workloads.push_back(TRY(report::parse_workload(text)));
  if (plan.workloads.empty())
    plan.workloads.assign(report::named_workloads().begin(), report::named_workloads().end());
  if (!flags.workloads.empty()) {  // no deeper than what was asked about
    plan.deepest = 0;
    for (const report::Workload& w : plan.workloads) plan.deepest = std::max(plan.deepest, w.positions());
  }
  if (flags.levers && !flags.full) plan.seconds *= 0.6;  // the rest is for the levers
  return plan;
}

}  // namespace

Result<> bench_model(const BenchFlags& flags) {
  BenchPlan plan = TRY(plan_of(flags));
  std::vector<report::Workload> requests;
  if (!flags.workload_file.empty()) {
    requests = TRY(read_requests(flags.workload_file));
    uint32_t most = 0;
    for (const report::Workload& w : requests) most = std::max(most, w.positions());
    if (flags.workloads.empty()) plan.deepest = std::min(plan.deepest, most);
  }
  if (flags.full && flags.out.empty()) return wrong_use("flag --full: give --out DIR for its report");
  std::unique_ptr<Model> model = TRY(load_model(TRY(find_model(flags.model))));
  if (!flags.other.empty())
    TRY_VOID(load_other(flags.model, flags.other, *model));  // before minutes of measuring
  // One device for all that is measured.
  const ModelFlags on_device = TRY(with_device(flags.model, *model, {.context = kLeastContext}));
  catch_interrupts();
  BenchProgress progress(plan.seconds);
  const std::unique_ptr<Meter> meter = TRY(open_for(on_device, std::move(model), plan));
  report::BenchReport report;
  Measurement measurement(*meter, plan, progress);
  Result<> done = measurement.run(on_device, report);
  if (done && !requests.empty() && !report.speed.prefill.empty() && !report.speed.decode.empty())
    report.logged = sum_requests(flags.workload_file, requests, report.speed);
  if (done && flags.levers && report.stopped.empty())
    done = pull_levers({on_device, flags.other, flags.out, flags.verify, plan.workloads.front()}, *meter,
                       measurement, progress, report);
  progress.clear();
  if (!done) report.stopped = done.error().message;
  TRY_VOID(show_report(flags, report));
  return done;
}

}  // namespace brass::app
