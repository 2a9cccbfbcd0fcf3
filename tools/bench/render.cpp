// How long chat templates take: a conversation of 200 messages and 100 KB, with and without tool calls.
//
//   bench_render FOLDER_OF_TEMPLATES [ROUNDS]
//
// Columns: milliseconds of CPU time on one thread, the median of the rounds: the template on the messages as given (raw), and with
// normalization (ready). "-": the template does not take that conversation.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "text/chat.h"

namespace {

using nlohmann::ordered_json;

constexpr size_t kMessages = 200, kBytes = 100'000;

// Of this thread: what others do on the machine does not count.
double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

std::string prose(size_t seed) {
  static constexpr const char* kWords[] = {"the",  "engine", "reads", "a",      "plan,",   "then", "größer",
                                           "runs", "it.",    "\n\n",  "`code`", "and",     "<b>",  "你好",
                                           "42",   "\"so\"", "that",  "every",  "message", "lasts"};
  std::string out;
  for (size_t i = 0; out.size() < kBytes / kMessages; i++) {
    if (i > 0) out += ' ';
    out += kWords[(i * 7 + seed * 3 + i * i % 11) % std::size(kWords)];
  }
  return out;
}

ordered_json conversation(bool tools) {
  ordered_json out = ordered_json::array();
  for (size_t i = 0; i < kMessages; i++) {
    if (!tools || i % 4 < 2) {
      out.push_back({{"role", i % 2 == 0 ? "user" : "assistant"}, {"content", prose(i)}});
    } else if (i % 4 == 2) {
      out.back() = {{"role", "assistant"}, {"content", ""}};
      ordered_json call = {{"name", "search"}, {"arguments", {{"query", prose(i - 1)}, {"count", i}}}};
      out.back()["tool_calls"] =
          ordered_json::array({{{"id", "abcdefghi"}, {"type", "function"}, {"function", std::move(call)}}});
      out.push_back(
          {{"role", "tool"}, {"tool_call_id", "abcdefghi"}, {"name", "search"}, {"content", prose(i)}});
    } else {
      out.push_back({{"role", "assistant"}, {"content", prose(i)}});
    }
  }
  return out;
}

ordered_json definitions() {
  const ordered_json properties = {{"query", {{"type", "string"}, {"description", "What to look for"}}},
                                   {"count", {{"type", "integer"}}}};
  const ordered_json parameters = {
      {"type", "object"}, {"properties", properties}, {"required", ordered_json::array({"query"})}};
  const ordered_json function = {
      {"name", "search"}, {"description", "Searches the web"}, {"parameters", parameters}};
  return ordered_json::array({{{"type", "function"}, {"function", function}}});
}

std::string measure(const brass::ChatTemplate& chat, bool with_tools, bool normalize, int rounds) {
  const ordered_json messages = conversation(with_tools);
  const ordered_json tools = with_tools ? definitions() : ordered_json(nullptr);
  brass::ChatOptions options;
  options.normalize = normalize;
  options.clock = 0;
  options.bos_token = "<s>";
  options.eos_token = "</s>";
  std::vector<double> times;
  for (int i = 0; i < rounds; i++) {
    const double start = cpu_milliseconds();
    const auto rendered = chat.render(messages, tools, options);
    times.push_back(cpu_milliseconds() - start);
    if (!rendered) return "-";
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return fmt::format("{:.2f}", times[static_cast<size_t>(rounds / 2)]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench_render FOLDER_OF_TEMPLATES [ROUNDS]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 15;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    if (entry.path().extension() == ".jinja") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  fmt::print("{:60} {:>9} {:>9} {:>9} {:>9}\n", "ms", "chat raw", "ready", "tools raw", "ready");
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream source;
    source << in.rdbuf();
    const auto chat = brass::ChatTemplate::load(source.str());
    if (!chat) {
      fmt::print("{}: {}\n", path.filename().string(), chat.error().message);
      continue;
    }
    fmt::print("{:60} {:>9} {:>9} {:>9} {:>9}\n", path.stem().string(), measure(**chat, false, false, rounds),
               measure(**chat, false, true, rounds), measure(**chat, true, false, rounds),
               measure(**chat, true, true, rounds));
    std::fflush(stdout);
  }
}
