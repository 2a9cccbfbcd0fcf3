// What a request's tools say that parsing needs: which names there are, and the types of parameters.
//
// Owns: ToolSet, and reading a value that was written without its type.
// Must not know: formats, texts.
// Invariants: schemas may be anything: what cannot be understood is as if it were not there. References are followed
// inside a tool's parameters, to a bounded depth.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace brass::calls {

// Which types of JSON a schema allows.
struct Types {
  bool null = false, boolean = false, integer = false, number = false, string = false, array = false,
       object = false;
  bool known() const { return null || boolean || integer || number || string || array || object; }
  bool only_string() const { return string && !null && !boolean && !integer && !number && !array && !object; }
};

// What is known of a value in a tool's parameters, by its place there.
class ValueSchema {
 public:
  ValueSchema() = default;  // nothing
  // `root`: what references in it are of.
  ValueSchema(const nlohmann::ordered_json* schema, const nlohmann::ordered_json* root)
      : schema_(schema), root_(root) {}

  Types types() const;
  // The strings that it lists: a text that is one of them is read as it.
  std::vector<std::string> listed_strings() const;
  ValueSchema member(std::string_view key) const;  // of an object
  ValueSchema item() const;                        // of a list
  // JSON of what a model wrote as a text: what the schema allows, where the text is that; else a string.
  std::string read(std::string_view text) const;

 private:
  const nlohmann::ordered_json* schema_ = nullptr;
  const nlohmann::ordered_json* root_ = nullptr;
};

class ToolSet {
 public:
  ToolSet() = default;
  // OpenAI's tools, or the functions themselves; anything else is no tool.
  explicit ToolSet(const nlohmann::ordered_json& tools);

  bool empty() const { return tools_.empty(); }
  bool has(std::string_view name) const { return tools_.contains(name); }
  // In the order of the schema; none for a tool that is not there.
  const std::vector<std::string>& parameters(std::string_view tool) const;
  ValueSchema value(std::string_view tool, std::string_view parameter) const;
  // All tools, as functions {"name", "parameters"}.
  const std::map<std::string, nlohmann::ordered_json, std::less<>>& all() const { return tools_; }

 private:
  std::map<std::string, nlohmann::ordered_json, std::less<>> tools_;
  std::map<std::string, std::vector<std::string>, std::less<>> parameters_;
};

}  // namespace brass::calls
