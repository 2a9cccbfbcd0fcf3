// Reads JSON from outside.
//
// Owns: parse_json(): the one door through which JSON text becomes a document.
// Must not know: what the document means.
// Invariants: nesting is bounded before a document is built, so no later walk over it can overflow the stack;
// a document holds valid UTF-8 only; errors name line and column.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace brass {

constexpr int kMaxJsonDepth = 256;

Result<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace brass
