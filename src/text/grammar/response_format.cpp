#include "text/grammar/response_format.h"

#include <nlohmann/json.hpp>

namespace brass::grammar {

using Json = nlohmann::ordered_json;
using GrammarResult = Result<std::shared_ptr<const Grammar>>;

namespace {

GrammarResult from_schema(const Json& holder, const std::string& field, const SchemaOptions& options) {
  const auto schema = holder.is_object() ? holder.find("schema") : holder.end();
  if (schema == holder.end()) return wrong_use("{}.schema: is needed", field);
  return within(field + ".schema", grammar_from_schema(*schema, options));
}

}  // namespace

GrammarResult grammar_from_response_format(const Json& format, const SchemaOptions& options) {
  if (format.is_null()) return nullptr;
  const auto type = format.is_object() ? format.find("type") : format.end();
  if (type == format.end() || !type->is_string())
    return wrong_use("response_format.type: 'text', 'json_object' or 'json_schema' is needed");
  if (*type == "text") return nullptr;
  if (*type == "json_object")
    return within("response_format", grammar_from_schema(Json{{"type", "object"}}, options));
  if (*type != "json_schema")
    return wrong_use("response_format.type: '{}' is not 'text', 'json_object' or 'json_schema'",
                     type->get<std::string>());
  const auto inner = format.find("json_schema");
  if (inner == format.end()) return from_schema(format, "response_format", options);
  return from_schema(*inner, "response_format.json_schema", options);
}

}  // namespace brass::grammar
