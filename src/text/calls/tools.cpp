#include "text/calls/tools.h"

#include <algorithm>

#include "text/calls/format.h"
#include "text/calls/value.h"

namespace brass::calls {

using nlohmann::ordered_json;

namespace {

// How far a schema is looked through: alternatives that refer to alternatives have no end.
struct Effort {
  int depth = 16, steps = 4096;
};

const ordered_json* member(const ordered_json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

void add_type(Types& types, const std::string& name) {
  if (name == "null") types.null = true;
  if (name == "boolean") types.boolean = true;
  if (name == "integer") types.integer = true;
  if (name == "number") types.number = types.integer = true;
  if (name == "string") types.string = true;
  if (name == "array") types.array = true;
  if (name == "object") types.object = true;
}

void add_type_of(Types& types, const ordered_json& value) {
  if (value.is_number_float()) {
    types.number = true;
  } else if (value.is_number() || value.is_binary()) {  // one of more than 64 bits (json_guard.h)
    types.integer = true;
  } else {
    add_type(types, value.type_name());
  }
}

// A reference inside the document: "#/$defs/x".
const ordered_json* referred(const ordered_json& root, const std::string& reference) {
  if (!reference.starts_with('#')) return nullptr;
  try {
    const ordered_json::json_pointer pointer(reference.substr(1));
    return root.contains(pointer) ? &root.at(pointer) : nullptr;
  } catch (const ordered_json::exception&) {
    return nullptr;
  }
}

void collect(Types& types, const ordered_json& schema, const ordered_json& root, Effort& effort,
             int depth = 0) {
  if (depth > effort.depth || effort.steps-- <= 0 || !schema.is_object()) return;
  if (const ordered_json* type = member(schema, "type")) {
    if (type->is_string()) add_type(types, type->get<std::string>());
    if (type->is_array())
      for (const ordered_json& one : *type)
        if (one.is_string()) add_type(types, one.get<std::string>());
    if (const ordered_json* nullable = member(schema, "nullable"); nullable && *nullable == true)
      types.null = true;
    if (types.known()) return;
  }
  if (const ordered_json* values = member(schema, "enum"); values && values->is_array())
    for (const ordered_json& value : *values) add_type_of(types, value);
  if (const ordered_json* value = member(schema, "const")) add_type_of(types, *value);
  if (const ordered_json* reference = member(schema, "$ref"); reference && reference->is_string())
    if (const ordered_json* target = referred(root, reference->get<std::string>()))
      collect(types, *target, root, effort, depth + 1);
  for (const char* key : {"anyOf", "oneOf", "allOf"})
    if (const ordered_json* options = member(schema, key); options && options->is_array())
      for (const ordered_json& option : *options) collect(types, option, root, effort, depth + 1);
  if (types.known()) return;
  if (member(schema, "properties") != nullptr) types.object = true;
  if (member(schema, "items") != nullptr) types.array = true;
  if (member(schema, "pattern") != nullptr || member(schema, "format") != nullptr) types.string = true;
}

// The first that `look` finds in a schema, what it refers to and its alternatives.
template <class Look>
const ordered_json* part(const ordered_json& schema, const ordered_json& root, const Look& look,
                         Effort& effort, int depth = 0) {
  if (depth > effort.depth || effort.steps-- <= 0 || !schema.is_object()) return nullptr;
  if (const ordered_json* found = look(schema)) return found;
  if (const ordered_json* reference = member(schema, "$ref"); reference && reference->is_string())
    if (const ordered_json* target = referred(root, reference->get<std::string>()))
      if (const ordered_json* found = part(*target, root, look, effort, depth + 1)) return found;
  for (const char* key : {"allOf", "anyOf", "oneOf"})
    if (const ordered_json* options = member(schema, key); options && options->is_array())
      for (const ordered_json& option : *options)
        if (const ordered_json* found = part(option, root, look, effort, depth + 1)) return found;
  return nullptr;
}

template <class Look>
const ordered_json* part(const ordered_json& schema, const ordered_json& root, const Look& look) {
  Effort effort;
  return part(schema, root, look, effort);
}

bool fits(const Types& types, std::string_view json) {
  if (!types.known()) return json[0] != '"';
  switch (json[0]) {
    case 'n':
      return types.null;
    case 't':
    case 'f':
      return types.boolean;
    case '[':
      return types.array;
    case '{':
      return types.object;
    case '"':
      return false;
    default:
      return types.number || types.integer;
  }
}

}  // namespace

ToolSet::ToolSet(const ordered_json& tools) {
  if (!tools.is_array()) return;
  for (const ordered_json& tool : tools) {
    const ordered_json* function = member(tool, "function");
    if (function == nullptr) function = &tool;
    const ordered_json* name = member(*function, "name");
    if (name == nullptr || !name->is_string()) continue;
    const std::string& key = name->get_ref<const std::string&>();
    tools_[key] = *function;
    std::vector<std::string>& names = parameters_[key];
    names.clear();
    const ordered_json* parameters = member(*function, "parameters");
    const ordered_json* properties = parameters ? member(*parameters, "properties") : nullptr;
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [parameter, unused] : properties->items()) names.push_back(parameter);
  }
}

const std::vector<std::string>& ToolSet::parameters(std::string_view tool) const {
  static const std::vector<std::string> kNone;
  const auto it = parameters_.find(tool);
  return it == parameters_.end() ? kNone : it->second;
}

ValueSchema ToolSet::value(std::string_view tool, std::string_view parameter) const {
  const auto it = tools_.find(tool);
  const ordered_json* root = it == tools_.end() ? nullptr : calls::member(it->second, "parameters");
  return ValueSchema(root, root).member(parameter);
}

Types ValueSchema::types() const {
  Types types;
  Effort effort;
  if (schema_ != nullptr) collect(types, *schema_, *root_, effort);
  return types;
}

std::vector<std::string> ValueSchema::listed_strings() const {
  std::vector<std::string> out;
  const ordered_json* values = schema_ ? calls::member(*schema_, "enum") : nullptr;
  if (values == nullptr || !values->is_array()) return out;
  for (const ordered_json& value : *values)
    if (value.is_string()) out.push_back(value.get<std::string>());
  return out;
}

ValueSchema ValueSchema::member(std::string_view key) const {
  if (schema_ == nullptr) return {};
  const ordered_json* found = part(*schema_, *root_, [&](const ordered_json& schema) -> const ordered_json* {
    const ordered_json* properties = calls::member(schema, "properties");
    return properties ? calls::member(*properties, key) : nullptr;
  });
  if (found != nullptr) return {found, root_};
  return {part(*schema_, *root_,
               [](const ordered_json& schema) { return calls::member(schema, "additionalProperties"); }),
          root_};
}

ValueSchema ValueSchema::item() const {
  if (schema_ == nullptr) return {};
  return {part(*schema_, *root_, [](const ordered_json& schema) { return calls::member(schema, "items"); }),
          root_};
}

std::string ValueSchema::read(std::string_view text) const {
  const Types allowed = types();
  const std::vector<std::string> listed = listed_strings();
  const bool is_listed = std::find(listed.begin(), listed.end(), text) != listed.end();
  if (allowed.only_string() || is_listed) return quoted_json(text);
  const std::optional<std::string> json = to_json(trimmed(text));
  if (json && fits(allowed, *json)) return *json;
  // A string between its own quotes, where strings are written bare, is the text with its quotes.
  return quoted_json(text);
}

}  // namespace brass::calls
