// What Jinja evaluates while it compiles.
//
// Owns: mark_folded(): finds the constant expressions. Jinja computes those before it runs, and it does so by
// rules of its own: a slice that would be an error at run time is undefined there, and what a short circuit
// leaves out is never looked at, even if it names a filter that does not exist.
// Must not know: scopes, statements.
#pragma once

#include "text/jinja_ast.h"

namespace brass::jinja {

// Sets `folded` in the expression; its filters and tests are bound. `printed`: it stands in {{ }}.
void mark_folded(Expr& root, bool printed);

}  // namespace brass::jinja
