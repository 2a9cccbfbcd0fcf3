// Reads JSON from outside.
//
// Owns: parse_json(): the one door through which JSON text becomes a document; the form of numbers that are kept as written.
// Must not know: what the document means.
// Invariants: nesting is bounded before a document is built, so no later walk over it can overflow the stack;
// a document holds valid UTF-8 only; errors name line and column.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brass {

constexpr int kMaxJsonDepth = 256;

Result<nlohmann::ordered_json> parse_json(std::string_view text);

// The same, but a number that is read as a double stays as it is written where `kept` says so: as a binary value that holds
// its text.
using KeptNumber = bool (*)(double value, std::string_view text);
Result<nlohmann::ordered_json> parse_json(std::string_view text, KeptNumber kept);
std::string kept_number(const nlohmann::ordered_json& binary);

// The same, with integers of any length kept as they are written.
Result<nlohmann::ordered_json> parse_json_exact(std::string_view text);
// On one line, with numbers as they were kept; what is not UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json);

}  // namespace brass
