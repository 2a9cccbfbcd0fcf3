// Which names a body of statements reads.
//
// Owns: Mentions; each_part(), the walk over the parts of an expression. Must not know: scopes, values.
#pragma once

#include <set>
#include <string>

#include "text/jinja_ast.h"

namespace brass::jinja {

// Calls f on the parts of an expression, in the order in which they are written down.
template <class F>
void each_part(const Expr& expr, F&& f) {
  for (const ExprPtr& kid : expr.kids) {
    if (kid) f(*kid);
  }
  for (const Keyword& keyword : expr.keywords) f(*keyword.value);
  if (expr.star) f(*expr.star);
  if (expr.star_star) f(*expr.star_star);
}

// Finds which of some names a body reads before it assigns them, anywhere inside.
class Mentions {
 public:
  explicit Mentions(std::set<std::string> names) : names_(std::move(names)) {}
  const std::set<std::string>& found() const { return found_; }

  void body(const Body& body);

 private:
  void read(const Expr& expr);
  void read(const ExprPtr& expr);
  void write(const Expr& target);
  void visit(const Stmt& stmt);

  std::set<std::string> names_;
  std::set<std::string> found_;
};

}  // namespace brass::jinja
