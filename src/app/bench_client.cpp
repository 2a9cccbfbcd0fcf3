// brass bench client: the two numbers over HTTP, of any server that speaks OpenAI's chat completions with streaming.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/bench_flags.h"
#include "app/bench_machine.h"
#include "app/bench_prose.h"
#include "app/completion_stream.h"
#include "app/http_stream.h"
#include "app/terminal.h"
#include "app/version.h"
#include "report/bench_report.h"
#include "report/rates.h"
#include "report/workload.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using report::ServedLevel;

constexpr size_t kUsualBytesAToken = 4;
constexpr int kMostAtOnce = 256;

struct Server {
  std::string base, model;  // base: up to and including /v1
  std::vector<std::string> headers;
};

Result<Server> find_server(const BenchFlags& flags) {
  if (!flags.second.starts_with("http://") && !flags.second.starts_with("https://"))
    return wrong_use("brass bench client: '{}' is no URL such as http://127.0.0.1:8080", flags.second);
  Server server{.base = flags.second, .model = {}, .headers = {}};
  while (server.base.ends_with('/')) server.base.pop_back();
  if (!server.base.ends_with("/v1")) server.base += "/v1";
  if (!flags.api_key.empty()) {
    std::string key = TRY(read_text_file(flags.api_key));
    while (!key.empty() && (key.back() == '\n' || key.back() == '\r')) key.pop_back();
    server.headers.push_back("Authorization: Bearer " + key);
  }
  const std::string text =
      TRY(http_text({.url = server.base + "/models", .body = {}, .headers = server.headers}));
  const Json models = Json::parse(text, nullptr, false);
  if (!models.is_object() || !models.contains("data") || !models["data"].is_array() ||
      models["data"].empty() || !models["data"][0].is_object() || !models["data"][0].contains("id") ||
      !models["data"][0]["id"].is_string())
    return fail("{}/models: the answer lists no model", server.base);
  server.model = models["data"][0]["id"].get<std::string>();
  return server;
}

Result<CompletionStream> complete(const Server& server, const std::string& prompt, uint32_t reply) {
  const Json body{{"model", server.model},
                  {"messages", {{{"role", "user"}, {"content", prompt}}}},
                  {"max_tokens", reply},
                  {"stream", true},
                  {"stream_options", {{"include_usage", true}}}};
  CompletionStream stream;
  const auto begin = Clock::now();
  TRY_VOID(
      http_stream({.url = server.base + "/chat/completions", .body = body.dump(), .headers = server.headers},
                  [&](std::string_view bytes) {
                    stream.push(bytes, std::chrono::duration<double>(Clock::now() - begin).count());
                  }));
  TRY_VOID(stream.finish());
  return stream;
}

// A prompt of about so many tokens. The number in front makes it one that no cache has seen.
std::string prompt_text(double bytes, uint64_t number) {
  std::string text = fmt::format("{} is the number of this text. Go on with it, at length.\n\n", number);
  if (bytes > static_cast<double>(text.size())) text += bench_prose(static_cast<size_t>(bytes));
  text.resize(std::max(text.find('.') + 1, static_cast<size_t>(bytes)));
  return text;
}

void add(ServedLevel& level, const CompletionStream& s, uint32_t wanted_prompt) {
  const uint32_t prompt = s.prompt_tokens().value_or(wanted_prompt);
  level.ttft.push_back(s.ttft());
  level.decode.push_back(s.decode());
  for (size_t i = 1; i < s.text_times().size(); i++)
    level.gaps.push_back(s.text_times()[i] - s.text_times()[i - 1]);
  if (const auto tps = report::prefill_tps(prompt, s.cached_tokens().value_or(0), s.ttft()))
    level.prefill_tps.push_back(*tps);
  if (const auto tps = report::decode_tps(s.reply_tokens(), s.decode())) level.decode_tps.push_back(*tps);
  level.prompt_tokens += prompt;
  level.reply_tokens += s.reply_tokens();
  level.server_counts = level.server_counts && s.counted_by_server();
}

// So many requests at the same time, with prompts that no cache has seen.
void run_round(const Server& server, const std::vector<std::string>& prompts, ServedLevel& level) {
  const size_t n = prompts.size();
  std::vector<Result<CompletionStream>> results(n, CompletionStream());
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < n; i++)
      threads.emplace_back([&, i] { results[i] = complete(server, prompts[i], level.workload.reply); });
  }
  level.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
  for (const auto& r : results) {
    if (r)
      add(level, *r, level.workload.prompt);
    else if (!interrupted())
      level.errors.push_back(r.error().message);
  }
}

ServedLevel run_level(const Server& server, const report::Workload& w, uint32_t at_once, uint32_t rounds,
                      double bytes_a_token, uint64_t& number) {
  ServedLevel level{.workload = w, .at_once = at_once};
  for (uint32_t round = 0; round < rounds && !interrupted() && level.errors.empty(); round++) {
    std::vector<std::string> prompts;
    for (uint32_t i = 0; i < at_once; i++) prompts.push_back(prompt_text(w.prompt * bytes_a_token, number++));
    run_round(server, prompts, level);
    if (level.errors.empty() && at_once == 1 && !interrupted())
      if (const auto again = complete(server, prompts[0], 2)) level.repeated_ttft.push_back(again->ttft());
  }
  return level;
}

// One client's requests are the report's workloads; the first of them its two numbers.
void add_row(const ServedLevel& l, report::BenchReport& report) {
  if (l.at_once != 1 || l.ttft.empty()) return;
  report::WorkloadRow row{.workload = l.workload};
  const double ttft = report::median(l.ttft);
  row.measured = report::MeasuredWorkload{.phases = {ttft, report::median(l.decode)},
                                          .ttft = ttft,
                                          .repetitions = static_cast<uint32_t>(l.ttft.size())};
  if (!l.gaps.empty()) {
    row.measured->latency_p50 = report::percentile(l.gaps, 0.5);
    row.measured->latency_p95 = report::percentile(l.gaps, 0.95);
    row.measured->latency_p99 = report::percentile(l.gaps, 0.99);
  }
  if (!l.repeated_ttft.empty())
    row.measured_cached = report::Phases{report::median(l.repeated_ttft), row.measured->phases.decode};
  report.workloads.push_back(row);
  if (report.headline_prompt != 0 || l.prefill_tps.empty()) return;
  report.headline_prompt = static_cast<uint32_t>(l.prompt_tokens / l.ttft.size());
  for (const double tps : l.prefill_tps) report.headline_prefill.push_back(report.headline_prompt / tps);
  report::DepthRow depth{
      .depth = report.headline_prompt, .decode = {}, .ttft_cached = l.repeated_ttft, .ttft_warm = ttft};
  for (const double tps : l.decode_tps) depth.decode.push_back(1 / tps);
  report.depths.push_back(std::move(depth));
}

Result<std::vector<uint32_t>> levels_of(const BenchFlags& flags) {
  std::vector<uint32_t> levels;
  for (const std::string& text : flags.concurrency) {
    char* end = nullptr;
    const long n = std::strtol(text.c_str(), &end, 10);
    if (*end != 0 || n < 1 || n > kMostAtOnce)
      return wrong_use("flag --concurrency: '{}' is not a number from 1 to {}", text, kMostAtOnce);
    levels.push_back(static_cast<uint32_t>(n));
  }
  if (levels.empty()) levels = {1, 2, 4};
  return levels;
}

}  // namespace

Result<> bench_client(const BenchFlags& flags) {
  const std::vector<uint32_t> levels = TRY(levels_of(flags));
  std::vector<report::Workload> workloads;
  for (const std::string& text : flags.workloads) workloads.push_back(TRY(report::parse_workload(text)));
  if (workloads.empty()) workloads.push_back(report::named_workloads()[0]);
  const uint32_t rounds = flags.rounds > 0 ? flags.rounds : 1;
  const Server server = TRY(find_server(flags));
  catch_interrupts();
  // How long a token is in this server's vocabulary; warms the server up, too.
  auto number =
      static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count() % 1000000 * 1000);
  const std::string sample = prompt_text(2000, number++);
  const CompletionStream first = TRY(complete(server, sample, 8));
  const double bytes_a_token = first.prompt_tokens() && *first.prompt_tokens() > 0
                                   ? static_cast<double>(sample.size()) / *first.prompt_tokens()
                                   : double{kUsualBytesAToken};
  report::BenchReport report;
  report.head = {
      {"model", server.model},
      {"server", server.base},
      {"prompt", fmt::format("prose that the program carries, {:.2f} bytes a token{}", bytes_a_token,
                             first.prompt_tokens() ? "" : " (assumed: the server counts none)")},
      {"method",
       fmt::format("{} rounds a level, after one short request; the time to the first token holds the "
                   "network and the server's queue",
                   rounds)},
      {"version", version_text()},
      {"date", now_text()}};
  size_t errors = 0;
  for (const report::Workload& w : workloads)
    for (const uint32_t at_once : levels) {
      if (interrupted()) break;
      report.served.push_back(run_level(server, w, at_once, rounds, bytes_a_token, number));
      add_row(report.served.back(), report);
      errors += report.served.back().errors.size();
    }
  if (interrupted()) report.stopped = "Ctrl-C before all levels were measured";
  TRY_VOID(show_report(flags, report));
  if (errors > 0) return fail("{} requests failed", errors);
  return {};
}

}  // namespace brass::app
