// The report as one page that needs nothing else: the figure inside, tables, light and dark, readable on a phone.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "report/bench_report.h"
#include "report/format.h"
#include "report/workload.h"

namespace brass::report {
namespace {

constexpr const char* kPage =
    "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
    "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0}</title>\n<style>\n"
    ":root{{--bg:#fff;--fg:#1c1e21;--mute:#5b616b;--line:#d8dbe0;--warn:#a32020}}\n"
    "@media(prefers-color-scheme:dark){{:root{{--bg:#14171b;--fg:#e8eaed;--mute:#a0a6b0;--line:#343a42;--"
    "warn:#ff8a80}}}}\n"
    "*{{box-sizing:border-box}}\n"
    "body{{margin:0 auto;max-width:70rem;padding:1rem;background:var(--bg);color:var(--fg);"
    "font:16px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}}\n"
    "h1{{font-size:1.4rem}}h2{{font-size:1.1rem;margin-top:2rem}}\n"
    ".wide{{overflow-x:auto}}\n"
    "table{{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}}\n"
    "th,td{{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}}\n"
    "th:first-child,td:first-child{{text-align:left}}th{{color:var(--mute);font-weight:600}}\n"
    "td.text{{text-align:left;white-space:normal;min-width:22rem;overflow-wrap:anywhere}}\n"
    "@media(max-width:40rem){{td.text{{min-width:6rem}}th,td{{padding:.3rem}}}}\n"
    "svg{{width:100%;height:auto;min-width:36rem}}\n"
    ".warn{{color:var(--warn);font-weight:600}}.note{{color:var(--mute)}}\n"
    "</style></head><body>\n<h1>{0}</h1>\n{1}</body></html>\n";

using Row = std::vector<std::string>;

// Cells of the last column are running text where `prose` is set.
std::string table(const Row& names, const std::vector<Row>& rows, bool prose = false) {
  if (rows.empty()) return {};
  std::string html = "<div class=\"wide\"><table>\n";
  if (!names.empty()) {
    html += "<tr>";
    for (const std::string& name : names) html += "<th scope=\"col\">" + escape_markup(name) + "</th>";
    html += "</tr>\n";
  }
  for (const Row& row : rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i)
      html +=
          (prose && i + 1 == row.size() ? "<td class=\"text\">" : "<td>") + escape_markup(row[i]) + "</td>";
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string section(const char* name, const std::string& content) {
  return content.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", name, content);
}

std::string numbers(const BenchReport& report) {
  std::vector<Row> rows;
  if (const auto p = report.prefill_tps())
    rows.push_back(
        {"prefill", format_tps(p), fmt::format("{} tokens into an empty context", report.headline_prompt)});
  if (const auto d = report.decode_tps())
    rows.push_back({"decode", format_tps(d), "at a depth of " + format_tokens(report.depths.front().depth)});
  if (report.cold_ttft)
    rows.push_back(
        {"first token, cold", format_seconds(*report.cold_ttft), "the first prompt after loading"});
  if (!report.headline_prefill.empty())
    rows.push_back(
        {"first token, warm", format_seconds(median(report.headline_prefill)), "the same prompt, again"});
  if (const auto shallow = report.shallow_crossover())
    rows.push_back({"crossover", fmt::format("{:.1f} : 1", *shallow),
                    "prompt to reply at which both phases take equal time"});
  if (const auto deep = report.deep_crossover())
    rows.push_back({"crossover, deep", fmt::format("{:.1f} : 1", deep->ratio),
                    fmt::format("the same with the rates at a depth of {:.0f}", deep->depth)});
  return table({}, rows, true);
}

std::string width(const Interval& interval) { return fmt::format("{:.1f} %", interval.half_width() * 100); }

std::string depths(const BenchReport& report) {
  const std::vector<double> one = {1.0};
  std::vector<Row> rows;
  for (const DepthRow& d : report.depths)
    rows.push_back({format_tokens(d.depth),
                    report.speed.prefill.empty() ? "" : format_tps(1 / report.speed.prefill.at(d.depth)),
                    report.speed.prefill.empty() || report.speed.prefill.rounds_at(d.depth) < 2
                        ? ""
                        : width(report.speed.prefill.interval_at(d.depth)),
                    d.decode.empty() ? "" : format_tps(1 / median(d.decode)),
                    d.decode.size() < 2 ? "" : width(ratio_interval(one, d.decode)),
                    fmt::format("{}{}", d.decode.size(),
                                far_off(d.decode) == 0 ? "" : fmt::format(", {} far off", far_off(d.decode))),
                    fmt::format("{:.0f} %", d.disturbance * 100),
                    d.ttft_warm ? format_seconds(*d.ttft_warm) : "",
                    d.ttft_cached.empty() ? "" : format_seconds(median(d.ttft_cached))});
  std::string html = table({"depth", "prefill", "± 95 %", "decode", "± 95 %", "rounds", "others' load",
                            "TTFT warm", "TTFT cached"},
                           rows);
  const auto fit = [&](const char* name, const Curve& curve) {
    if (curve.fit())
      html += fmt::format(
          "<p class=\"note\">{}: ms/token = {:.4g} + {:.4g} · depth/1000 (95 % of the slope: {:.3g} … "
          "{:.3g}; largest residual {:.1f} %)</p>\n",
          name, curve.fit()->a.middle * 1e3, curve.fit()->b.middle * 1e6, curve.fit()->b.low * 1e6,
          curve.fit()->b.high * 1e6, curve.fit()->worst_residual * 100);
  };
  fit("prefill", report.speed.prefill);
  fit("decode", report.speed.decode);
  return html;
}

std::string requests(const BenchReport& report) {
  if (!report.logged) return {};
  const LoggedRequests& l = *report.logged;
  return fmt::format(
      "<p>{}: {} requests, {} of them with more prefill than decode; in all {} of prefill and {} of decode; "
      "2 × prefill "
      "saves {}, 2 × decode {}.</p>\n",
      escape_markup(l.file), l.count, l.prefill_bound, format_seconds(l.phases.prefill),
      format_seconds(l.phases.decode), format_seconds(saved_by_prefill(l.phases, 2)),
      format_seconds(saved_by_decode(l.phases, 2)));
}

std::string workloads(const BenchReport& report) {
  std::vector<Row> rows;
  for (const WorkloadRow& row : report.workloads) {
    const auto best = row.best();
    if (!best) continue;
    std::string how = row.measured ? "measured" : "composed";
    if (!row.fits) how += ", longer than the context";
    if (row.extrapolated) how += ", extrapolated";
    if (row.measured && row.composed) how += "; composed would say " + format_seconds(row.composed->total());
    rows.push_back({row.workload.name + " " + format_shape(row.workload), format_seconds(best->prefill),
                    format_seconds(best->decode), format_seconds(best->total()),
                    fmt::format("{:.0f} %", best->prefill_share() * 100),
                    fmt::format("{:.1f} : 1", static_cast<double>(row.workload.prompt) / row.workload.reply),
                    row.cached() ? format_seconds(row.cached()->prefill) : "",
                    format_seconds(saved_by_prefill(*best, 2)), format_seconds(saved_by_decode(*best, 2)),
                    row.cached() ? format_seconds(std::max(0.0, best->prefill - row.cached()->prefill)) : "",
                    how});
  }
  return table({"workload", "prefill", "decode", "total", "prefill share", "prompt : reply",
                "TTFT, prefix cached", "2 × prefill saves", "2 × decode saves", "cached prefix saves", "how"},
               rows, true) +
         requests(report);
}

std::string served(const BenchReport& report) {
  if (report.served.empty()) return {};
  std::vector<Row> rows = served_table(report.served);
  const Row names = rows.front();
  rows.erase(rows.begin());
  return table(names, rows);
}

std::string ledger(const BenchReport& report) {
  if (!report.ledger) return {};
  const Ledger& l = *report.ledger;
  std::vector<Row> rows;
  const auto add = [&](const std::string& group, const std::string& type, uint64_t bytes) {
    if (bytes > 0)
      rows.push_back(
          {group, type, format_bytes(bytes),
           fmt::format("{:.1f} %", 100.0 * static_cast<double>(bytes) / static_cast<double>(l.streamed()))});
  };
  for (const LedgerRow& row : l.weights) add(row.group, row.type, row.bytes);
  add("keys and values, read", "", l.kv_read);
  add("keys and values, written", "", l.kv_written);
  add("recurrent state", "", l.state);
  add("in all", "", l.streamed());
  return fmt::format("<p>Bytes of one decoded token at a depth of {}, from the plan that ran.</p>\n",
                     l.depth) +
         table({"group", "type", "bytes", "share"}, rows) +
         fmt::format(
             "<p class=\"note\">Activations {}, which stay in caches; {} operations. A prompt token takes "
             "{}.</p>\n",
             format_bytes(l.activations), format_count(static_cast<double>(l.flops)),
             format_count(report.prefill_flops));
}

std::string ceilings(const BenchReport& report) {
  std::vector<Row> rows;
  const auto add = [&](const char* name, const std::optional<PhaseCeiling>& c) {
    if (c)
      rows.push_back({name, format_tps(c->ceiling_tps), c->bound, format_tps(c->achieved_tps),
                      fmt::format("{:.0f} %", c->achieved() * 100)});
  };
  std::string rates;
  const DeviceRates& r = report.rates;
  if (r.bandwidth) rates += fmt::format("memory {}", format_bandwidth(*r.bandwidth));
  if (r.int8_ops) rates += fmt::format(" · int8 products {}op/s", format_count(*r.int8_ops));
  if (r.f32_ops) rates += fmt::format(" · f32 products {}op/s", format_count(*r.f32_ops));
  if (!rates.empty()) rates = "<p>By this run's own probes with the same threads: " + rates + ".</p>\n";
  add("prefill", report.prefill_ceiling);
  add("decode", report.decode_ceiling);
  std::string html = rates + table({"phase", "ceiling", "bound by", "achieved", "share"}, rows);
  rows.clear();
  for (const StepLoss& loss : report.losses)
    rows.push_back(
        {loss.step, format_seconds(loss.seconds), format_seconds(loss.least), format_seconds(loss.lost())});
  return html + table({"step of a decoded token", "takes", "could take", "loses"}, rows);
}

std::string levers(const BenchReport& report) {
  std::vector<Row> rows;
  for (const Lever& l : report.levers) {
    if (!l.unavailable.empty()) {
      rows.push_back({l.name, "", "", "", "", "", l.change + ". No prediction: " + l.unavailable});
      continue;
    }
    const auto off = off_by(l);
    rows.push_back(
        {l.name,
         (l.bytes_saved < 0 ? "−" : "") + format_bytes(static_cast<uint64_t>(std::abs(l.bytes_saved))),
         l.predicted ? format_tps(l.predicted->decode_tps) : "",
         l.predicted ? format_seconds(l.predicted->seconds) : "",
         l.measured ? format_seconds(l.measured->seconds) : "",
         off ? fmt::format("{:+.1f} %", off->seconds * 100) : "",
         l.change + ". Quality: " + l.quality + ". Assumes: " + l.assumption +
             (off && off->worst() > kFlaggedError
                  ? fmt::format(". MORE THAN 10 % OFF (prefill {:+.1f} %, decode {:+.1f} %).",
                                off->prefill_tps * 100, off->decode_tps * 100)
                  : ".") +
             (l.prediction_sha256.empty() ? "" : " sha256 of the prediction: " + l.prediction_sha256)});
  }
  if (rows.empty()) return {};
  return "<p>On " + escape_markup(report.lever_workload) + ".</p>\n" +
         table({"lever", "bytes saved", "decode, predicted", "workload, predicted", "measured", "off by",
                "what"},
               rows, true);
}

}  // namespace

std::string report_html(const BenchReport& report) {
  std::string body;
  if (!report.stopped.empty())
    body += "<p class=\"warn\">Partial report: " + escape_markup(report.stopped) + "</p>\n";
  const Figure figure = report_figure(report);
  body += section("The two numbers", numbers(report));
  if (!figure.shares.empty())
    body += section("Where the time goes", "<div class=\"wide\">" + figure_svg(figure) + "</div>\n");
  body += section("Over depth", depths(report)) + section("Workloads", workloads(report)) +
          section("Requests at once", served(report)) + section("The ledger", ledger(report)) +
          section("Ceilings", ceilings(report)) + section("Levers", levers(report));
  std::vector<Row> head;
  for (const Fact& fact : report.head) head.push_back({fact.key, fact.value});
  body += section("What was measured, on what", table({}, head, true));
  for (const std::string& note : report.notes) body += "<p class=\"note\">" + escape_markup(note) + "</p>\n";
  return fmt::format(fmt::runtime(kPage), escape_markup("brass bench: " + report.model()), body);
}

}  // namespace brass::report
