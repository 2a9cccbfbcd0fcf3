// The report for a terminal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/bench_report.h"
#include "report/format.h"
#include "report/served.h"
#include "report/workload.h"

namespace brass::report {
namespace {

std::string tps(double seconds_a_token) { return format_tps(1 / seconds_a_token); }

// "412 tok/s (95 %: 405 … 418)" of rounds that each took seconds ÷ tokens.
std::string with_interval(const std::vector<double>& seconds, double tokens) {
  const std::vector<double> one = {tokens};
  const Interval i = ratio_interval(one, seconds);
  return fmt::format("{} (95 %: {:.4g} … {:.4g}, {} rounds)", format_tps(i.middle), i.low, i.high,
                     seconds.size());
}

std::string far_off_text(const std::vector<double>& rounds) {
  const size_t n = far_off(rounds);
  return n == 0 ? "" : fmt::format("  {} of {} rounds far off", n, rounds.size());
}

std::string head_text(const BenchReport& report) {
  std::string text;
  if (!report.stopped.empty()) text += "PARTIAL REPORT: " + report.stopped + "\n";
  size_t width = 0;
  for (const Fact& fact : report.head) width = std::max(width, fact.key.size());
  for (const Fact& fact : report.head) text += fmt::format("  {:<{}}  {}\n", fact.key, width, fact.value);
  return text;
}

std::string numbers_text(const BenchReport& report) {
  std::string text = "\nThe two numbers\n";
  if (!report.headline_prefill.empty())
    text += fmt::format("  prefill  {}, {} tokens into an empty context{}\n",
                        with_interval(report.headline_prefill, report.headline_prompt),
                        report.headline_prompt, far_off_text(report.headline_prefill));
  if (!report.depths.empty() && !report.depths.front().decode.empty())
    text += fmt::format("  decode   {}, at a depth of {}\n", with_interval(report.depths.front().decode, 1),
                        format_tokens(report.depths.front().depth));
  if (!report.headline_prefill.empty())
    text += fmt::format(
        "  time to the first token of that prompt: {} warm{}\n",
        format_seconds(median(report.headline_prefill)),
        report.cold_ttft ? fmt::format(", {} the first time after loading", format_seconds(*report.cold_ttft))
                         : "");
  return text;
}

std::string fit_text(const char* name, const Curve& curve) {
  if (!curve.fit()) return fmt::format("  {}: one depth only, no fit\n", name);
  const LineFit& f = *curve.fit();
  return fmt::format(
      "  {}: ms/token = {:.4g} + {:.4g} · depth/1000   (95 %: {:.4g} … {:.4g}; {:.3g} … {:.3g}; largest "
      "residual {:.1f} %)\n",
      name, f.a.middle * 1e3, f.b.middle * 1e6, f.a.low * 1e3, f.a.high * 1e3, f.b.low * 1e6, f.b.high * 1e6,
      f.worst_residual * 100);
}

// "±2.1 %" of the 95 % interval; "" where one round says nothing of it.
std::string width_text(const Curve& curve, double depth) {
  return curve.rounds_at(depth) < 2 ? ""
                                    : fmt::format("±{:.1f} %", curve.interval_at(depth).half_width() * 100);
}

std::string width_text(const std::vector<double>& rounds) {
  const std::vector<double> one = {1.0};
  return rounds.size() < 2 ? "" : fmt::format("±{:.1f} %", ratio_interval(one, rounds).half_width() * 100);
}

std::string depths_text(const BenchReport& report) {
  if (report.depths.empty()) return {};
  std::string text = "\nOver depth (±: the 95 % interval)\n";
  text += fmt::format("  {:>7}  {:>13} {:>8}  {:>13} {:>8}  {:>10}  {:>12}\n", "depth", "prefill there", "",
                      "decode", "", "TTFT warm", "TTFT cached");
  const Curve& prefill = report.speed.prefill;
  for (const DepthRow& d : report.depths) {
    text += fmt::format(
        "  {:>7}  {:>13} {:>8}  {:>13} {:>8}  {:>10}  {:>12}{}{}\n", format_tokens(d.depth),
        prefill.empty() ? "" : tps(prefill.at(d.depth)), prefill.empty() ? "" : width_text(prefill, d.depth),
        d.decode.empty() ? "" : tps(median(d.decode)), width_text(d.decode),
        d.ttft_warm ? format_seconds(*d.ttft_warm) : "",
        d.ttft_cached.empty() ? "" : format_seconds(median(d.ttft_cached)), far_off_text(d.decode),
        d.disturbance > 0.05
            ? fmt::format("  others took up to {:.0f} % of the processors", d.disturbance * 100)
            : "");
  }
  if (prefill.empty()) return text;
  return text + fit_text("prefill", prefill) + fit_text("decode", report.speed.decode);
}

std::string workload_row(const WorkloadRow& row) {
  const auto phases = row.best();
  if (!phases) return {};
  std::string how = row.measured ? "measured" : row.fits ? "composed" : "composed, longer than the context";
  if (row.extrapolated) how += ", extrapolated";
  if (row.measured && row.composed)
    how += fmt::format(" (composed {}, {:+.1f} %)", format_seconds(row.composed->total()),
                       (row.composed->total() / row.measured->phases.total() - 1) * 100);
  const double ttft = row.measured ? row.measured->ttft : phases->prefill;
  const double ratio = static_cast<double>(row.workload.prompt) / row.workload.reply;
  return fmt::format("  {:<12} {:>8} {:>9} {:>9} {:>9} {:>5.0f} %  {:>9} {:>9} {:>8.1f} : 1  {}\n",
                     row.workload.name, format_shape(row.workload), format_seconds(phases->prefill),
                     format_seconds(phases->decode), format_seconds(phases->total()),
                     phases->prefill_share() * 100, format_seconds(ttft),
                     row.cached() ? format_seconds(row.cached()->prefill) : "", ratio, how);
}

std::string crossover_text(const BenchReport& report) {
  const auto shallow = report.shallow_crossover();
  if (!shallow) return {};
  std::string text = fmt::format(
      "  The phases take equal time at a prompt of {:.1f} times the reply (prefill ÷ decode, short texts)",
      *shallow);
  if (const auto deep = report.deep_crossover())
    text += fmt::format(", {:.1f} at a depth of {:.0f}", deep->ratio, deep->depth);
  return text + ".\n";
}

std::string workloads_text(const BenchReport& report) {
  std::string rows;
  for (const WorkloadRow& row : report.workloads) rows += workload_row(row);
  if (rows.empty()) return {};
  std::string text = "\nWorkloads\n" +
                     fmt::format("  {:<12} {:>8} {:>9} {:>9} {:>9} {:>7}  {:>9} {:>9} {:>12}\n", "", "shape",
                                 "prefill", "decode", "total", "prefill", "TTFT", "cached", "prompt:reply");
  text += rows + crossover_text(report);
  for (const WorkloadRow& row : report.workloads)
    if (row.measured)
      text +=
          fmt::format("  {}: between tokens p50 {}, p95 {}, p99 {}\n", row.workload.name,
                      format_seconds(row.measured->latency_p50), format_seconds(row.measured->latency_p95),
                      format_seconds(row.measured->latency_p99));
  if (report.logged) {
    const LoggedRequests& l = *report.logged;
    text += fmt::format(
        "  {}: {} requests, {} of them with more prefill than decode; in all {} prefill + {} decode; 2 × "
        "prefill saves {}, 2 × decode {}\n",
        l.file, l.count, l.prefill_bound, format_seconds(l.phases.prefill), format_seconds(l.phases.decode),
        format_seconds(saved_by_prefill(l.phases, 2)), format_seconds(saved_by_decode(l.phases, 2)));
  }
  return text;
}

std::string ledger_text(const BenchReport& report) {
  if (!report.ledger) return {};
  const Ledger& l = *report.ledger;
  std::string text = fmt::format(
      "\nThe ledger: bytes of one decoded token at a depth of {}, from the plan that ran\n", l.depth);
  const auto line = [&](const std::string& group, const std::string& type, uint64_t bytes) {
    if (bytes > 0)
      text += fmt::format("  {:<28} {:<8} {:>9} {:>6.1f} %\n", group, type, format_bytes(bytes),
                          100.0 * static_cast<double>(bytes) / static_cast<double>(l.streamed()));
  };
  for (const LedgerRow& row : l.weights) line(row.group, row.type, row.bytes);
  line("keys and values, read", "", l.kv_read);
  line("keys and values, written", "", l.kv_written);
  line("recurrent state", "", l.state);
  text += fmt::format("  {:<28} {:<8} {:>9}\n", "streamed in all", "", format_bytes(l.streamed()));
  text += fmt::format("  activations {} (they stay in caches) · {} operations; a prompt token takes {}\n",
                      format_bytes(l.activations), format_count(static_cast<double>(l.flops)),
                      format_count(report.prefill_flops));
  return text;
}

std::string ceilings_text(const BenchReport& report) {
  std::string text;
  if (report.rates.bandwidth) text += fmt::format("  memory {}", format_bandwidth(*report.rates.bandwidth));
  if (report.rates.int8_ops)
    text += fmt::format(" · int8 products {}op/s", format_count(*report.rates.int8_ops));
  if (report.rates.f32_ops)
    text += fmt::format(" · f32 products {}op/s", format_count(*report.rates.f32_ops));
  if (text.empty()) return {};
  text = "\nCeilings, by this run's own probes with the same threads\n" + text + "\n";
  const auto line = [&](const char* name, const std::optional<PhaseCeiling>& c) {
    if (c)
      text +=
          fmt::format("  {}: ceiling {} by {}, achieved {} = {:.0f} %\n", name, format_tps(c->ceiling_tps),
                      c->bound, format_tps(c->achieved_tps), c->achieved() * 100);
  };
  line("prefill", report.prefill_ceiling);
  line("decode", report.decode_ceiling);
  if (!report.losses.empty())
    text += "  Steps of a decoded token that lose most against their own ceilings:\n";
  for (const StepLoss& loss : report.losses)
    text += fmt::format("    {:<36} {:>9}, could be {:>9}\n", loss.step, format_seconds(loss.seconds),
                        format_seconds(loss.least));
  return text;
}

std::string outcome_text(const LeverOutcome& o) {
  return fmt::format("prefill {}, decode {}, {}", format_tps(o.prefill_tps), format_tps(o.decode_tps),
                     format_seconds(o.seconds));
}

std::string saved_bytes(int64_t bytes) {
  return (bytes < 0 ? "−" : "") + format_bytes(static_cast<uint64_t>(std::abs(bytes)));
}

std::string lever_text(const Lever& lever) {
  std::string text = fmt::format("  {}: {}\n", lever.name, lever.change);
  if (!lever.unavailable.empty()) return text + "    no prediction: " + lever.unavailable + "\n";
  text += fmt::format("    saves {} of a token's bytes · quality: {}\n", saved_bytes(lever.bytes_saved),
                      lever.quality);
  if (lever.predicted) text += "    predicted " + outcome_text(*lever.predicted) + "\n";
  if (!lever.assumption.empty()) text += "    assumes: " + lever.assumption + "\n";
  if (lever.measured) text += "    measured  " + outcome_text(*lever.measured) + "\n";
  if (const auto off = off_by(lever))
    text += fmt::format(
        "    prediction off by {:+.1f} % of the time, prefill {:+.1f} %, decode {:+.1f} %{} (written down "
        "first: sha256 {:.12}…)\n",
        off->seconds * 100, off->prefill_tps * 100, off->decode_tps * 100,
        off->worst() > kFlaggedError ? "  ← MORE THAN 10 %" : "", lever.prediction_sha256);
  else if (!lever.prediction_sha256.empty())
    text += fmt::format("    sha256 of the prediction {:.12}…\n", lever.prediction_sha256);
  return text;
}

std::string levers_text(const BenchReport& report) {
  if (report.levers.empty()) return {};
  std::string text = "\nLevers on " + report.lever_workload + "\n";
  for (const Lever& lever : report.levers) text += lever_text(lever);
  return text;
}

}  // namespace

std::string report_text(const BenchReport& report, int width, bool colour) {
  std::string text = head_text(report) + numbers_text(report) + depths_text(report) + workloads_text(report);
  const Figure figure = report_figure(report);
  if (!figure.shares.empty()) text += "\n" + figure_text(figure, width, colour);
  text += served_text(report.served);
  text += ledger_text(report) + ceilings_text(report) + levers_text(report);
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes) text += "  " + note + "\n";
  return text;
}

}  // namespace brass::report
