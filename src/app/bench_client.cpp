// brass bench client: the two numbers over HTTP, of any server that speaks OpenAI's chat completions with streaming.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/bench_flags.h"
#include "app/bench_prose.h"
#include "app/completion_stream.h"
#include "app/http_stream.h"
#include "app/terminal.h"
#include "report/format.h"
#include "report/phases.h"
#include "report/rates.h"
#include "report/statistics.h"
#include "report/workload.h"

namespace brass::app {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr size_t kUsualBytesAToken = 4;
constexpr int kMostAtOnce = 256;

struct Server {
  std::string base, model;  // base: up to and including /v1
  std::vector<std::string> headers;
};

// One level of concurrency on one workload.
struct Level {
  report::Workload workload;
  uint32_t at_once = 1;
  std::vector<double> ttft, gaps, prefill_tps, decode_tps;
  std::vector<double> cached_ttft;  // the same prompts again
  uint64_t prompt_tokens = 0, reply_tokens = 0;
  bool server_counts = true;
  double seconds = 0;  // from the first request to the last byte
  std::vector<std::string> errors;
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

void add(Level& level, const CompletionStream& s, uint32_t wanted_prompt) {
  const uint32_t prompt = s.prompt_tokens().value_or(wanted_prompt);
  level.ttft.push_back(s.ttft());
  for (size_t i = 1; i < s.text_times().size(); i++)
    level.gaps.push_back(s.text_times()[i] - s.text_times()[i - 1]);
  if (const auto tps = report::prefill_tps(prompt, s.cached_tokens().value_or(0), s.ttft()))
    level.prefill_tps.push_back(*tps);
  if (const auto tps = report::decode_tps(s.reply_tokens(), s.decode())) level.decode_tps.push_back(*tps);
  level.prompt_tokens += prompt;
  level.reply_tokens += s.reply_tokens();
  level.server_counts = level.server_counts && s.counted_by_server();
}

Level run_level(const Server& server, const report::Workload& w, uint32_t at_once, double bytes_a_token,
                uint64_t& number) {
  Level level{.workload = w, .at_once = at_once};
  std::vector<std::string> prompts;
  for (uint32_t i = 0; i < at_once; i++) prompts.push_back(prompt_text(w.prompt * bytes_a_token, number++));
  std::vector<Result<CompletionStream>> results(at_once, CompletionStream());
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (uint32_t i = 0; i < at_once; i++)
      threads.emplace_back([&, i] { results[i] = complete(server, prompts[i], w.reply); });
  }
  level.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (const auto& r : results) {
    if (r)
      add(level, *r, w.prompt);
    else
      level.errors.push_back(r.error().message);
  }
  if (level.errors.empty() && at_once == 1 && !interrupted())
    if (const auto again = complete(server, prompts[0], 2)) level.cached_ttft.push_back(again->ttft());
  return level;
}

Json level_json(const Level& l) {
  Json out{{"workload", {{"prompt", l.workload.prompt}, {"reply", l.workload.reply}}},
           {"concurrency", l.at_once},
           {"prompt_tokens", l.prompt_tokens},
           {"reply_tokens", l.reply_tokens},
           {"tokens_counted_by_server", l.server_counts},
           {"seconds", l.seconds},
           {"ttft_s", l.ttft},
           {"ttft_repeated_prompt_s", l.cached_ttft},
           {"prefill_tps", l.prefill_tps},
           {"decode_tps", l.decode_tps},
           {"errors", l.errors}};
  if (!l.gaps.empty())
    out["latency_s"] = {{"p50", report::percentile(l.gaps, 0.5)},
                        {"p95", report::percentile(l.gaps, 0.95)},
                        {"p99", report::percentile(l.gaps, 0.99)}};
  return out;
}

std::string level_text(const Level& l) {
  std::string text = fmt::format("  {} {}, {} at once: {} prompt and {} reply tokens{}\n", l.workload.name,
                                 report::format_shape(l.workload), l.at_once, l.prompt_tokens, l.reply_tokens,
                                 l.server_counts ? "" : " (chunks: the server counts none)");
  if (!l.ttft.empty()) {
    const auto middle = [](const std::vector<double>& v) {
      return v.empty() ? std::optional<double>() : report::median(v);
    };
    text += fmt::format(
        "    time to first token {} (p95 {}){}\n", report::format_seconds(report::median(l.ttft)),
        report::format_seconds(report::percentile(l.ttft, 0.95)),
        l.cached_ttft.empty()
            ? ""
            : fmt::format(", {} for the same prompt again", report::format_seconds(l.cached_ttft[0])));
    text += fmt::format(
        "    prefill {} (from the time to the first token), decode {} each; in all {} of replies\n",
        report::format_tps(middle(l.prefill_tps)), report::format_tps(middle(l.decode_tps)),
        report::format_tps(static_cast<double>(l.reply_tokens) / l.seconds));
  }
  if (!l.gaps.empty())
    text += fmt::format("    between chunks p50 {}, p95 {}, p99 {}\n",
                        report::format_seconds(report::percentile(l.gaps, 0.5)),
                        report::format_seconds(report::percentile(l.gaps, 0.95)),
                        report::format_seconds(report::percentile(l.gaps, 0.99)));
  if (l.at_once == 1 && !l.ttft.empty() && !l.decode_tps.empty()) {
    const report::Phases p{l.ttft[0], l.seconds - l.ttft[0]};
    text += fmt::format("    {} in all, {:.0f} % of it prefill\n", report::format_seconds(p.total()),
                        p.prefill_share() * 100);
  }
  for (const std::string& error : l.errors) text += "    failed: " + error + "\n";
  return text;
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
  Json list = Json::array();
  std::string text =
      fmt::format("{} at {}\n  {:.2f} bytes of prompt a token{}\n", server.model, server.base, bytes_a_token,
                  first.prompt_tokens() ? "" : " (assumed: the server counts none)");
  size_t errors = 0;
  for (const report::Workload& w : workloads)
    for (const uint32_t at_once : levels) {
      if (interrupted()) break;
      const Level level = run_level(server, w, at_once, bytes_a_token, number);
      list.push_back(level_json(level));
      text += level_text(level);
      errors += level.errors.size();
    }
  if (interrupted()) text += "  Partial: Ctrl-C.\n";
  const std::string json = Json{{"format", "brass bench client 1"},
                                {"complete", !interrupted()},
                                {"server", server.base},
                                {"model", server.model},
                                {"levels", list}}
                               .dump(1, ' ', false, Json::error_handler_t::replace) +
                           "\n";
  fmt::print("{}", flags.json ? json : text);
  if (!flags.out.empty()) TRY_VOID(write_out(flags.out, "client.json", json));
  if (errors > 0) return fail("{} requests failed", errors);
  return {};
}

}  // namespace brass::app
