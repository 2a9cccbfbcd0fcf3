// The terminals that a Lark grammar may import from `common`.
#pragma once

#include <string_view>

namespace brass::grammar::lark {

// As a pattern for RegexArena::parse, or "": there is none of this name.
std::string_view common_pattern(std::string_view name);

}  // namespace brass::grammar::lark
