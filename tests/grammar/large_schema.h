// A schema like those of programs' interfaces, of any size.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace brass::grammar {

// Objects in objects, strings with bounds, patterns and formats, numbers with bounds, lists, alternatives: of about `bytes`.
inline nlohmann::ordered_json large_schema(size_t bytes) {
  using Json = nlohmann::ordered_json;
  const Json leaves = Json::parse(R"([{"type": "string", "minLength": 1, "maxLength": 120},
      {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4,6}$"}, {"type": "string", "format": "date-time"},
      {"type": "integer", "minimum": 0, "maximum": 65535}, {"type": "number", "exclusiveMinimum": 0},
      {"enum": ["open", "closed", "in progress", null]}, {"type": "boolean"},
      {"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 1, "maxItems": 10},
      {"anyOf": [{"type": "string", "format": "uuid"}, {"type": "integer"}]}, {"$ref": "#/$defs/person"}])");
  Json root = {{"type", "object"}, {"properties", Json::object()}, {"required", Json::array()}};
  root["$defs"]["person"] = Json::parse(R"({"type": "object", "properties": {"name": {"type": "string"},
      "email": {"type": "string", "format": "email"}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
      "friends": {"type": "array", "items": {"$ref": "#/$defs/person"}}}, "required": ["name"],
      "additionalProperties": false})");
  for (int group = 0; root.dump().size() < bytes; group++) {
    Json part = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
    for (size_t i = 0; i < leaves.size(); i++)
      part["properties"][fmt::format("member_{}_{}", group, i)] = leaves[i];
    part["required"] = {fmt::format("member_{}_0", group), fmt::format("member_{}_3", group)};
    const std::string name = fmt::format("group_{}", group);
    root["properties"][name] = std::move(part);
    root["required"].push_back(name);
  }
  return root;
}

}  // namespace brass::grammar
