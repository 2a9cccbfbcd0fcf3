#include "app/bench_requests.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace brass::app {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kMostTokens = 1u << 24;

Result<uint32_t> token_count(const Json& object, const char* key, const char* other) {
  for (const char* name : {key, other}) {
    if (!object.contains(name)) continue;
    const Json& value = object[name];
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kMostTokens)
      return wrong_use("'{}' is not a number of tokens from 1 to {}", name, kMostTokens);
    return static_cast<uint32_t>(value.get<int64_t>());
  }
  return wrong_use("there is neither '{}' nor '{}'", key, other);
}

}  // namespace

Result<report::Workload> parse_request(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return wrong_use("this is not a JSON object");
  const Json& object = json.contains("usage") && json["usage"].is_object() ? json["usage"] : json;
  return report::Workload{"", TRY(token_count(object, "prompt_tokens", "prompt")),
                          TRY(token_count(object, "completion_tokens", "reply"))};
}

Result<std::vector<report::Workload>> read_requests(const std::string& path) {
  std::ifstream in(path);
  if (!in) return wrong_use("flag --workload-file: {} cannot be opened", path);
  std::vector<report::Workload> requests;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    number++;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<report::Workload> request = parse_request(line);
    if (!request)
      return std::unexpected(
          std::move(request.error()).within(fmt::format("flag --workload-file: {}:{}", path, number)));
    requests.push_back(*request);
  }
  if (requests.empty()) return wrong_use("flag --workload-file: {} holds no request", path);
  return requests;
}

report::LoggedRequests sum_requests(const std::string& path, const std::vector<report::Workload>& requests,
                                    const report::Speed& speed) {
  report::LoggedRequests sum{.file = std::filesystem::path(path).filename().string(), .phases = {}};
  for (const report::Workload& w : requests) {
    const report::Phases phases = report::compose(speed, w);
    sum.count++;
    sum.prefill_bound += phases.prefill > phases.decode ? 1 : 0;
    sum.phases.prefill += phases.prefill;
    sum.phases.decode += phases.decode;
  }
  return sum;
}

}  // namespace brass::app
