// Parses a template into a syntax tree.
//
// Owns: parse(): the grammar of statements and expressions, refusals by name of what needs other files
// (include, import, extends), limits on nesting.
// Must not know: variables' places, values at run time.
// Invariants: every error names line and column; nesting beyond kMaxNesting is an error, never a stack
// overflow. Source: the grammar that Jinja 3.1 accepts with the loop controls and `generation` extensions.
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/jinja_ast.h"

namespace brass::jinja {

constexpr int kMaxNesting = 200;  // of brackets, operators and calls in an expression, and of statements

Result<Tree> parse(std::string_view source);

}  // namespace brass::jinja
