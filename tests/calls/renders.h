// Conversations with calls, and the templates that write them.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "shared_data.h"

namespace brass::calls {

using nlohmann::ordered_json;

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

inline std::map<std::string, std::string> templates() {
  std::map<std::string, std::string> out;
  const auto folder = shared_data("templates");
  if (!folder) return out;
  for (const auto& entry : std::filesystem::directory_iterator(*folder))
    if (entry.path().extension() == ".jinja") out[entry.path().stem().string()] = read(entry.path().string());
  return out;
}

inline ordered_json tools() {
  const ordered_json properties = {
      {"city", {{"type", "string"}, {"description", "a city"}}},
      {"note", {{"type", "string"}, {"description", "a text"}}},
      {"count", {{"type", "integer"}, {"description", "how many"}}},
      {"ratio", {{"type", "number"}, {"description", "how much"}}},
      {"exact", {{"type", "boolean"}, {"description", "whether"}}},
      {"maybe", {{"type", "string"}, {"nullable", true}, {"description", "a text or nothing"}}},
      {"list", {{"type", "array"}, {"items", {{"type", "number"}}}, {"description", "numbers"}}},
      {"names", {{"type", "array"}, {"items", {{"type", "string"}}}, {"description", "texts"}}},
      {"nest",
       {{"type", "object"},
        {"properties", {{"inner", {{"type", "object"}, {"description", "an object"}}}}},
        {"description", "an object"}}},
  };
  ordered_json out = ordered_json::array();
  for (const char* name : {"lookup", "send_mail", "f"}) {
    const ordered_json parameters = {{"type", "object"}, {"properties", properties}, {"required", {"city"}}};
    out.push_back({{"type", "function"},
                   {"function", {{"name", name}, {"description", "A tool."}, {"parameters", parameters}}}});
  }
  return out;
}

struct Case {
  const char* name;
  std::string content, reasoning;
  std::vector<std::pair<std::string, ordered_json>> calls;
};

inline std::vector<Case> cases() {
  const ordered_json paris = {{"city", "Paris"}};
  const auto note = [](const std::string& text) { return ordered_json{{"city", "x"}, {"note", text}}; };
  return {
      {"plain", "", "", {{"lookup", paris}}},
      {"no arguments", "", "", {{"lookup", ordered_json::object()}}},
      {"two", "", "", {{"lookup", paris}, {"send_mail", note("hello")}}},
      {"three", "", "", {{"lookup", paris}, {"f", ordered_json::object()}, {"lookup", {{"city", "Oslo"}}}}},
      {"text before", "Let me look.", "", {{"lookup", paris}}},
      {"reasoning", "", "First I think.\n\nThen I call.", {{"lookup", paris}}},
      {"reasoning and text", "I will look.", "I think.", {{"lookup", paris}, {"f", {{"count", 1}}}}},
      {"numbers", "", "", {{"f", {{"count", -42}, {"ratio", -0.5}, {"list", {1, 2.5, 1e-7, 1e+21, 0, -3}}}}}},
      {"whole float", "", "", {{"f", {{"ratio", 1.0}, {"count", 9007199254740993}}}}},
      {"words", "", "", {{"f", {{"exact", true}, {"maybe", nullptr}}}}},
      {"false", "", "", {{"f", {{"exact", false}, {"names", ordered_json::array()}}}}},
      {"strings like values", "", "", {{"f", {{"city", "42"}, {"note", "true"}, {"names", {"null", "1"}}}}}},
      {"null as text", "", "", {{"f", {{"city", "null"}, {"note", "None"}}}}},
      {"json as text", "", "", {{"f", note("{\"a\": [1, \"b\"]}")}}},
      {"nested", "", "", {{"f", {{"nest", {{"inner", {{"a", {1, {{"b", "c"}}}}, {"d", ""}}}, {"e", 1.5}}}}}}},
      {"deep words", "", "", {{"f", {{"nest", {{"inner", {{"t", true}, {"n", nullptr}, {"q", "it's"}}}}}}}}},
      {"unicode", "", "", {{"f", note("Zürich – 東京 🦊 \u2028 \u00a0")}}},
      {"escapes", "", "", {{"f", note("a\\b \"q\" 'r' \\n \\u0041 tab\there")}}},
      {"lines", "", "", {{"f", note("first\nsecond\n\nfourth")}}},
      {"lines at both ends", "", "", {{"f", note("\nmiddle\n")}}},
      {"two lines at both ends", "", "", {{"f", note("\n\nmiddle\n\n")}}},
      {"blanks at both ends", "", "", {{"f", note("  middle \t")}}},
      {"empty text", "", "", {{"f", note("")}}},
      {"a tag", "", "", {{"f", note("<b>bold</b> & <i/>")}}},
      {"end of a call", "", "", {{"f", note("say </tool_call> now")}}},
      {"end of a parameter", "", "", {{"f", note("say </parameter> now</parameter>")}}},
      {"a call",
       "",
       "",
       {{"f", note("<tool_call>\n{\"name\": \"lookup\", \"arguments\": {}}\n</tool_call>")}}},
      {"marks of many",
       "",
       "",
       {{"f", note("[TOOL_CALLS][{ <|tool_call_end|> </arg_value> <arg_key> </invoke> }] <think> </think> "
                   "<|call|> <｜tool▁call▁end｜> <|END_ACTION|> <|tools_suffix|> </function> >>>f\n{")}}},
      {"ends like a mark", "", "", {{"f", note("a </")}, {"f", note("</tool_call")}}},
      {"code", "", "", {{"f", note("def f(x=1):\n    return {'a': [x, \"y\"]}\n")}}},
  };
}

inline ordered_json message_of(const Case& given) {
  ordered_json message = {{"role", "assistant"}, {"content", given.content}};
  if (!given.reasoning.empty()) message["reasoning_content"] = given.reasoning;
  ordered_json calls = ordered_json::array();
  for (size_t i = 0; i < given.calls.size(); i++) {
    calls.push_back({{"id", fmt::format("call0000{}", i)},
                     {"type", "function"},
                     {"function", {{"name", given.calls[i].first}, {"arguments", given.calls[i].second}}}});
  }
  message["tool_calls"] = calls;
  return message;
}

}  // namespace brass::calls
