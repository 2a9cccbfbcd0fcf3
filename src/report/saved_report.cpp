#include "report/saved_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/bench_report.h"
#include "report/workload.h"

namespace brass::report {
namespace {

using Json = nlohmann::json;

// Positive seconds, or an error: a report may have been edited.
Result<std::vector<double>> read_seconds(const Json& object, const char* key) {
  std::vector<double> out;
  if (!object.contains(key)) return out;
  if (!object[key].is_array()) return wrong_use("'{}' is not a list", key);
  for (const Json& value : object[key]) {
    if (!value.is_number() || !(value.get<double>() > 0))
      return wrong_use("'{}' holds {}, which is no time", key, value.dump());
    out.push_back(value.get<double>());
  }
  return out;
}

std::string short_value(const std::map<std::string, std::string>& head, const char* key) {
  const auto found = head.find(key);
  return found == head.end() ? "not said" : found->second.substr(0, 40);
}

}  // namespace

Result<SavedReport> parse_saved_report(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format") || json["format"] != "brass bench 1")
    return wrong_use("this is not the report.json of brass bench");
  SavedReport out;
  if (json.contains("head") && json["head"].is_object())
    for (const auto& [key, value] : json["head"].items())
      if (value.is_string()) out.head[key] = value.get<std::string>();
  if (json.contains("numbers") && json["numbers"].is_object()) {
    const Json& numbers = json["numbers"];
    out.prefill = TRY(read_seconds(numbers, "prefill_s"));
    if (numbers.contains("headline_prompt") && numbers["headline_prompt"].is_number_unsigned())
      out.headline_prompt = numbers["headline_prompt"].get<uint32_t>();
  }
  if (json.contains("depths") && json["depths"].is_array())
    for (const Json& depth : json["depths"]) {
      if (!depth.is_object() || !depth.contains("depth") || !depth["depth"].is_number_unsigned())
        return wrong_use("'depths' holds an entry without a depth");
      out.decode[depth["depth"].get<uint32_t>()] = TRY(read_seconds(depth, "decode_s_a_token"));
    }
  return out;
}

std::vector<std::string> differences(const SavedReport& a, const SavedReport& b) {
  std::vector<std::string> out;
  for (const char* key : kIdentity) {
    const std::string left = short_value(a.head, key), right = short_value(b.head, key);
    if (left != right || left == "not said") out.push_back(fmt::format("{} ({} and {})", key, left, right));
  }
  return out;
}

std::vector<ComparedFigure> compare_reports(const SavedReport& a, const SavedReport& b) {
  std::vector<ComparedFigure> figures;
  if (!a.prefill.empty() && !b.prefill.empty() && a.headline_prompt == b.headline_prompt)
    figures.push_back({fmt::format("prefill, {} tokens", a.headline_prompt),
                       static_cast<double>(a.headline_prompt), a.prefill, b.prefill,
                       compare_seconds(a.prefill, b.prefill, false)});
  for (const auto& [depth, seconds] : a.decode) {
    const auto other = b.decode.find(depth);
    if (other == b.decode.end() || seconds.empty() || other->second.empty()) continue;
    figures.push_back({"decode, depth " + format_tokens(depth), 1, seconds, other->second,
                       compare_seconds(seconds, other->second, false)});
  }
  return figures;
}

}  // namespace brass::report
