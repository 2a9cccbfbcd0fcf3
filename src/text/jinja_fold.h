// What Jinja evaluates while it compiles.
//
// Owns: mark_folded(): finds the slices inside constant expressions. Jinja computes those before it runs and
// then takes a slice of something that has none as undefined, where at run time it would be an error. Must
// not know: values beyond constants.
#pragma once

#include "text/jinja_ast.h"

namespace brass::jinja {

// `printed`: the expression stands in {{ }}.
void mark_folded(Expr& root, bool printed);

}  // namespace brass::jinja
