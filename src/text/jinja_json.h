// JSON to template values.
//
// Owns: the conversion of a parsed JSON document into a frozen value tree.
// Must not know: messages, templates.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <unordered_map>

#include "text/jinja_value.h"

namespace brass::jinja {

// Strings that are to be found again in what a template writes, and the ids of their origins.
using Numbers = std::unordered_map<const nlohmann::ordered_json*, uint32_t>;

// Strings are untrusted. Key order is kept. The document's depth is bounded by parse_json (json_guard.h).
Value from_json(const nlohmann::ordered_json& json, const Numbers* numbers = nullptr);

// The variables of a template, from a JSON object. Top-level strings whose names end in "_token" (bos_token
// and its like) are the model's own and trusted. Errors if it is no object.
Result<Value> context_from_json(const nlohmann::ordered_json& json);

}  // namespace brass::jinja
