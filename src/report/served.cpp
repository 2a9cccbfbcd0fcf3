#include "report/served.h"

#include <fmt/format.h>

#include "report/format.h"
#include "report/statistics.h"

namespace brass::report {
namespace {

std::string seconds_at(const std::vector<double>& values, double q) {
  return values.empty() ? "" : format_seconds(percentile(values, q));
}

std::string middle_tps(const std::vector<double>& values) {
  return values.empty() ? format_tps({}) : format_tps(median(values));
}

std::string replies_tps(const ServedLevel& level) {
  return level.seconds > 0 ? format_tps(static_cast<double>(level.reply_tokens) / level.seconds)
                           : format_tps({});
}

std::string level_text(const ServedLevel& l) {
  std::string text = fmt::format("  {} {}, {} at once: {} prompt and {} reply tokens{}\n", l.workload.name,
                                 format_shape(l.workload), l.at_once, l.prompt_tokens, l.reply_tokens,
                                 l.server_counts ? "" : " (chunks: the server counts none)");
  if (!l.ttft.empty()) {
    text += fmt::format(
        "    time to first token {} (p95 {}){}\n", seconds_at(l.ttft, 0.5), seconds_at(l.ttft, 0.95),
        l.repeated_ttft.empty()
            ? ""
            : fmt::format(", {} for the same prompt again", seconds_at(l.repeated_ttft, 0.5)));
    text += fmt::format(
        "    prefill {} (from the time to the first token), decode {} each; in all {} of replies\n",
        middle_tps(l.prefill_tps), middle_tps(l.decode_tps), replies_tps(l));
  }
  if (!l.gaps.empty())
    text += fmt::format("    between chunks p50 {}, p95 {}, p99 {}\n", seconds_at(l.gaps, 0.5),
                        seconds_at(l.gaps, 0.95), seconds_at(l.gaps, 0.99));
  for (const std::string& error : l.errors) text += "    failed: " + error + "\n";
  return text;
}

}  // namespace

std::string served_text(const std::vector<ServedLevel>& levels) {
  if (levels.empty()) return {};
  std::string text = "\nRequests at once\n";
  for (const ServedLevel& level : levels) text += level_text(level);
  return text;
}

std::vector<std::vector<std::string>> served_table(const std::vector<ServedLevel>& levels) {
  std::vector<std::vector<std::string>> rows = {{"workload", "at once", "TTFT", "TTFT p95",
                                                 "same prompt again", "between chunks p50", "p95", "p99",
                                                 "prefill", "decode, each", "replies in all", "failed"}};
  for (const ServedLevel& l : levels)
    rows.push_back({l.workload.name + " " + format_shape(l.workload), std::to_string(l.at_once),
                    seconds_at(l.ttft, 0.5), seconds_at(l.ttft, 0.95), seconds_at(l.repeated_ttft, 0.5),
                    seconds_at(l.gaps, 0.5), seconds_at(l.gaps, 0.95), seconds_at(l.gaps, 0.99),
                    middle_tps(l.prefill_tps), middle_tps(l.decode_tps), replies_tps(l),
                    std::to_string(l.errors.size())});
  return rows;
}

}  // namespace brass::report
