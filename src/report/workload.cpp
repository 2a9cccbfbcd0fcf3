#include "report/workload.h"

#include <charconv>
#include <optional>

namespace brass::report {
namespace {

constexpr uint32_t kMostTokens = 1u << 24;

const std::vector<Workload>& list() {
  static const std::vector<Workload> workloads = {{"short-chat", 256, 512},
                                                  {"chat-turn", 2048, 2048},
                                                  {"code-review", 16 * 1024, 1024},
                                                  {"rag-answer", 32 * 1024, 512},
                                                  {"doc-summary", 32 * 1024, 256}};
  return workloads;
}

std::optional<uint32_t> parse_tokens(std::string_view text) {
  uint32_t unit = 1;
  if (!text.empty() && (text.back() == 'k' || text.back() == 'K')) {
    unit = 1024;
    text.remove_suffix(1);
  }
  uint32_t count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (count == 0 || count > kMostTokens / unit) return std::nullopt;
  return count * unit;
}

}  // namespace

std::span<const Workload> named_workloads() { return list(); }

Result<Workload> parse_workload(std::string_view text) {
  std::string names;
  for (const Workload& w : list()) {
    if (w.name == text) return w;
    names += (names.empty() ? "" : ", ") + w.name;
  }
  const size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto prompt = parse_tokens(text.substr(0, slash)), reply = parse_tokens(text.substr(slash + 1));
    if (prompt && reply) return Workload{std::string(text), *prompt, *reply};
  }
  return std::unexpected(
      Error{fmt::format("workload '{}' is neither PROMPT/REPLY in tokens nor a name", text),
            "for example 16k/1k; the names: " + names, true});
}

std::string format_tokens(uint32_t tokens) {
  return tokens >= 1024 && tokens % 1024 == 0 ? fmt::format("{}k", tokens / 1024) : fmt::format("{}", tokens);
}

std::string format_shape(const Workload& workload) {
  return format_tokens(workload.prompt) + "/" + format_tokens(workload.reply);
}

}  // namespace brass::report
