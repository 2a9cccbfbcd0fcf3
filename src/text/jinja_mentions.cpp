#include "text/jinja_mentions.h"

namespace brass::jinja {

void Mentions::body(const Body& body) {
  for (const auto& stmt : body) visit(*stmt);
}

void Mentions::read(const Expr& expr) {
  if (expr.kind == ExprKind::name && names_.contains(expr.name)) found_.insert(expr.name);
  each_part(expr, [&](const Expr& part) { read(part); });
}
void Mentions::read(const ExprPtr& expr) {
  if (expr) read(*expr);
}
void Mentions::write(const Expr& target) {
  if (target.kind == ExprKind::name) names_.erase(target.name);
  each_part(target, [&](const Expr& part) { write(part); });
}
void Mentions::visit(const Stmt& stmt) {
  switch (stmt.kind) {
    case StmtKind::output:
      for (const ExprPtr& part : static_cast<const OutputStmt&>(stmt).parts) read(part);
      break;
    case StmtKind::set: {
      const auto& s = static_cast<const SetStmt&>(stmt);
      write(*s.target), read(s.value);
      break;
    }
    case StmtKind::set_block: {
      const auto& s = static_cast<const SetBlockStmt&>(stmt);
      write(*s.target), read(s.filter), body(s.body);
      break;
    }
    case StmtKind::if_: {
      const auto& s = static_cast<const IfStmt&>(stmt);
      for (size_t i = 0; i < s.tests.size(); i++) read(s.tests[i]), body(s.bodies[i]);
      body(s.otherwise);
      break;
    }
    case StmtKind::for_: {
      const auto& s = static_cast<const ForStmt&>(stmt);
      write(*s.target), read(s.iter), body(s.body), body(s.otherwise), read(s.test);
      break;
    }
    case StmtKind::macro:
    case StmtKind::call_block: {
      const auto& s = static_cast<const MacroStmt&>(stmt);
      read(s.call);
      for (const ExprPtr& param : s.params) write(*param);
      for (const ExprPtr& value : s.defaults) read(value);
      body(s.body);
      break;
    }
    case StmtKind::filter_block: {
      const auto& s = static_cast<const FilterBlockStmt&>(stmt);
      body(s.body), read(s.filter);
      break;
    }
    case StmtKind::with: {
      const auto& s = static_cast<const WithStmt&>(stmt);
      for (const ExprPtr& target : s.targets) write(*target);
      for (const ExprPtr& value : s.values) read(value);
      body(s.body);
      break;
    }
    case StmtKind::autoescape:
      read(static_cast<const AutoescapeStmt&>(stmt).value);
      body(static_cast<const AutoescapeStmt&>(stmt).body);
      break;
    case StmtKind::block:
    case StmtKind::break_:
    case StmtKind::continue_:
      break;
  }
}

}  // namespace brass::jinja
