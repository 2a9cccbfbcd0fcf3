#include "report/bench_report.h"

#include <algorithm>

#include "report/workload.h"

namespace brass::report {

std::optional<Phases> WorkloadRow::best() const {
  return measured ? std::optional(measured->phases) : composed;
}

std::optional<Phases> WorkloadRow::cached() const {
  return measured_cached ? measured_cached : composed_cached;
}

std::string BenchReport::model() const {
  for (const Fact& fact : head)
    if (fact.key == "model") return fact.value;
  return "model";
}

std::optional<double> BenchReport::prefill_tps() const {
  if (headline_prefill.empty()) return std::nullopt;
  return headline_prompt / median(headline_prefill);
}

std::optional<double> BenchReport::decode_tps() const {
  if (depths.empty() || depths.front().decode.empty()) return std::nullopt;
  return 1 / median(depths.front().decode);
}

std::optional<double> BenchReport::shallow_crossover() const {
  const auto p = prefill_tps(), d = decode_tps();
  return p && d ? crossover(*p, *d) : std::nullopt;
}

std::optional<BenchReport::DeepCrossover> BenchReport::deep_crossover() const {
  if (speed.decode.points().size() < 2 || speed.prefill.empty()) return std::nullopt;
  const double deep = std::min(speed.decode.deepest(), speed.prefill.deepest());
  const auto ratio = crossover(deep / speed.prefill.sum(0, deep), 1 / speed.decode.at(deep));
  return ratio ? std::optional(DeepCrossover{deep, *ratio}) : std::nullopt;
}

Figure report_figure(const BenchReport& report) {
  Figure figure{.title = report.model(),
                .shares_title = "Wall clock by workload (prompt/reply tokens)",
                .saved_title = "Seconds that would be saved by …",
                .shares = {},
                .saved = {},
                .notes = {}};
  bool composed = false, beyond = false;
  for (const WorkloadRow& row : report.workloads) {
    const auto phases = row.best();
    if (!phases) continue;
    std::string mark;
    if (!row.measured) mark += "c", composed = true;
    if (row.extrapolated || !row.fits) mark += "*", beyond = true;
    const std::string label =
        row.workload.name +
        (row.workload.name == format_shape(row.workload) ? "" : " " + format_shape(row.workload));
    figure.shares.push_back({label, *phases, mark});
    figure.saved.push_back(
        {row.workload.name + ": 2 × prefill", saved_by_prefill(*phases, 2), SavedKind::kPrefill});
    figure.saved.push_back(
        {row.workload.name + ": 2 × decode", saved_by_decode(*phases, 2), SavedKind::kDecode});
    if (const auto cached = row.cached())
      figure.saved.push_back({row.workload.name + ": prefix cached",
                              std::max(0.0, phases->prefill - cached->prefill), SavedKind::kCache});
  }
  if (composed) figure.notes.push_back("c: composed from the measured curves over depth, not run.");
  if (beyond)
    figure.notes.push_back(
        "*: beyond the measured depths, or the context: extrapolated by the fitted slope.");
  return figure;
}

}  // namespace brass::report
