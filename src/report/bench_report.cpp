#include "report/bench_report.h"

#include <algorithm>

#include "report/workload.h"

namespace brass::report {

std::optional<Phases> WorkloadRow::best() const {
  return measured ? std::optional(measured->phases) : composed;
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
    if (row.composed && row.composed_cached)
      figure.saved.push_back({row.workload.name + ": prefix cached",
                              std::max(0.0, phases->prefill - row.composed_cached->prefill),
                              SavedKind::kCache});
  }
  if (composed) figure.notes.push_back("c: composed from the measured curves over depth, not run.");
  if (beyond)
    figure.notes.push_back(
        "*: beyond the measured depths, or the context: extrapolated by the fitted slope.");
  return figure;
}

}  // namespace brass::report
