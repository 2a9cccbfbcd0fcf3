// The regular expressions of Lark grammars, which are Python's, in the notation that RegexArena reads.
//
// Owns: what differs: flags, '.', classes, escapes, named groups, quantifiers that are text. Must not know: what an
// expression means. Invariants: what has no equal is refused by name; \d, \w and \s stay as they are (of ASCII, where
// Python's are of Unicode).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace brass::grammar::lark {

// `flags`: of imslux. Errors say what and at which character of the pattern.
Result<std::string> translate_pattern(std::string_view pattern, std::string_view flags);

}  // namespace brass::grammar::lark
