// The values of the keyword `format` as regular languages.
//
// Owns: what each name means. Invariants: a standard name is either here or refused; other names are annotations.
#pragma once

#include <optional>
#include <string_view>

#include "text/grammar/regex.h"

namespace brass::grammar::schema {

// Nothing: an annotation. Errors name the format.
Result<std::optional<RegexId>> format_language(RegexArena& arena, std::string_view name);

}  // namespace brass::grammar::schema
