// Gives every variable of a template its place.
//
// Owns: resolve(): which scope a name belongs to, what it holds when the scope is entered, in which
// activation's slot it lives; binding of filter and test names. Must not know: values at run time.
// Invariants: Jinja compiles a template to Python functions, and its scoping is what falls out of that:
// loops, `with`, set and filter blocks are scopes inside a function; macros, call blocks, recursive loops and
// loop filters are functions that see the enclosing ones' variables as they are when they run. A name that a
// scope assigns anywhere is that scope's throughout, and starts as a copy of the outer one.
#pragma once

#include "base/result.h"
#include "text/jinja_ast.h"

namespace brass::jinja {

Result<> resolve(Tree& tree);

}  // namespace brass::jinja
