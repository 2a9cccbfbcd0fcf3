// What Jinja evaluates while it compiles.
//
// Owns: mark_folded(): finds the constant expressions. Jinja computes those before it runs, and it does so by
// rules of its own: a slice that would be an error at run time is undefined there, and what a short circuit
// leaves out is never looked at, even if it names a filter that does not exist.
// Must not know: scopes, statements.
#pragma once

#include <optional>

#include "text/jinja_ast.h"

namespace brass::jinja {

struct Folding {
  bool printed = false;     // the expression stands in {{ }}
  bool autoescape = false;  // what Jinja takes to hold there
  bool unknown =
      false;  // it is left to the render: then only what is printed is computed, without filters and tests
};

// Sets `folded` in the expression; its filters and tests are bound.
void mark_folded(Expr& root, Folding how);

// Whether a constant expression holds; nothing: it is none.
std::optional<bool> constant_truth(const Expr& root, Folding how);

}  // namespace brass::jinja
