#include "text/jinja_scope.h"

#include <optional>
#include <set>

#include "text/jinja_fold.h"
#include "text/jinja_mentions.h"
#include "text/jinja_runtime.h"
#include "text/jinja_symbols.h"

namespace brass::jinja {
namespace {

// First pass over a scope: which names it reads and assigns. It does not enter inner scopes.
class Analysis {
 public:
  explicit Analysis(Symbols& symbols) : symbols_(&symbols) {}

  void body(const Body& body) {
    for (const auto& stmt : body) visit(*stmt);
  }
  void read(const ExprPtr& expr) {
    if (expr) read(*expr);
  }
  void write(const Expr& target, bool as_parameter = false) {
    if (target.kind == ExprKind::ns_target) {
      symbols_->load(target.name);
    } else if (target.kind == ExprKind::name) {
      if (as_parameter) {
        symbols_->parameter(target.name);
      } else {
        symbols_->store(target.name);
      }
    }
    each_part(target, [&](const Expr& part) { write(part, as_parameter); });
  }

 private:
  void read(const Expr& expr) {
    if (expr.kind == ExprKind::name) symbols_->load(expr.name);
    each_part(expr, [&](const Expr& part) { read(part); });
  }
  void branches(const IfStmt& stmt, size_t from) {  // the tests from `from` on, and the else: nested ifs
    // Jinja nests an elif inside the if's branches: each is a branch of its own whose test is read first.
    read(stmt.tests[from]);
    Symbols* const whole = symbols_;
    std::vector<Symbols> parts(3, *whole);
    symbols_ = &parts[0];
    body(stmt.bodies[from]);
    symbols_ = &parts[1];
    for (size_t i = from + 1; i < stmt.tests.size(); i++) elif (stmt, i);
    symbols_ = &parts[2];
    body(stmt.otherwise);
    symbols_ = whole;
    whole->merge(parts);
  }
  void elif (const IfStmt& stmt, size_t i) {
    read(stmt.tests[i]);
    Symbols* const whole = symbols_;
    std::vector<Symbols> parts(3, *whole);
    symbols_ = &parts[0];
    body(stmt.bodies[i]);
    symbols_ = whole;
    whole->merge(parts);
  }
  void visit(const Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::output:
        for (const ExprPtr& part : static_cast<const OutputStmt&>(stmt).parts) read(part);
        break;
      case StmtKind::set:
        read(static_cast<const SetStmt&>(stmt).value), write(*static_cast<const SetStmt&>(stmt).target);
        break;
      case StmtKind::set_block:
        write(*static_cast<const SetBlockStmt&>(stmt).target);
        break;
      case StmtKind::if_:
        branches(static_cast<const IfStmt&>(stmt), 0);
        break;
      case StmtKind::for_:
        read(static_cast<const ForStmt&>(stmt).iter);
        break;
      case StmtKind::macro:
        symbols_->store(static_cast<const MacroStmt&>(stmt).name);
        break;
      case StmtKind::call_block:
        read(static_cast<const MacroStmt&>(stmt).call);
        break;
      case StmtKind::filter_block:
        read(static_cast<const FilterBlockStmt&>(stmt).filter);
        break;
      case StmtKind::with:
        for (const ExprPtr& value : static_cast<const WithStmt&>(stmt).values) read(value);
        break;
      case StmtKind::autoescape:  // a scope, its value in it
      case StmtKind::block:
      case StmtKind::break_:
      case StmtKind::continue_:
        break;
    }
  }

  Symbols* symbols_;
};

// Second pass: writes slots into the tree, scope by scope.
class Binder {
 public:
  Result<> tree(Tree& tree) {
    Function function;
    Symbols symbols(nullptr, &function);
    Mentions mentions({"self"});
    mentions.body(tree.body);
    if (mentions.found().contains("self")) tree.self_slot = static_cast<int>(symbols.parameter("self"));
    Analysis(symbols).body(tree.body);
    tree.scope = symbols.scope();
    autoescapes_ = tree.has_autoescape;
    TRY(body(tree.body, symbols));
    tree.slots = static_cast<uint32_t>(function.slots.size());
    tree.blocks = std::move(blocks_);
    return {};
  }

 private:
  Result<> body(Body& body, Symbols& symbols) {
    for (auto& stmt : body) TRY(visit(*stmt, symbols));
    return {};
  }

  // A whole expression.
  Result<> expr(const ExprPtr& root, Symbols& symbols, bool printed = false) {
    if (!root) return {};
    if (root->kind == ExprKind::data) return {};
    bool fold = printed && volatile_;  // whether it matters
    bind(*root, symbols, fold);
    if (fold) mark_folded(*root, folding(printed));
    // What is printed and known is escaped as Jinja compiles it, by what it then takes to hold.
    if (printed && volatile_ && root->folded) root->escape = escaping_ ? Escape::on : Escape::off;
    return check_builtins(*root, conditional_);
  }
  Folding folding(bool printed) const {
    return {.printed = printed, .autoescape = escaping_, .unknown = volatile_};
  }
  Escape escape() const { return volatile_ ? Escape::asked : escaping_ ? Escape::on : Escape::off; }
  void bind(Expr& e, Symbols& symbols, bool& fold) const {
    e.escape = escape();
    fold |= autoescapes_ && (e.kind == ExprKind::concat || e.kind == ExprKind::filter);
    if (e.kind == ExprKind::name || e.kind == ExprKind::ns_target) e.slot = symbols.slot(e.name);
    if (e.kind == ExprKind::filter || e.kind == ExprKind::test) {
      e.builtin = e.kind == ExprKind::filter ? find_filter(e.name) : find_test(e.name);
      fold |= e.builtin == nullptr;
    }
    fold |= e.kind == ExprKind::slice;
    each_part(e, [&](const Expr& part) { bind(const_cast<Expr&>(part), symbols, fold); });
  }
  // An unknown filter in a branch is an error only when it is reached.
  static Result<> check_builtins(const Expr& e, bool conditional) {
    if (e.folded) return {};
    const bool calls = e.kind == ExprKind::filter || e.kind == ExprKind::test;
    if (calls && e.builtin == nullptr && !conditional) {
      return fail_at(e.at, "no {} named '{}'", e.kind == ExprKind::filter ? "filter" : "test", e.name);
    }
    Result<> result;
    each_part(e, [&](const Expr& part) {
      if (result) result = check_builtins(part, conditional || e.kind == ExprKind::conditional);
    });
    return result;
  }
  Result<> exprs(const std::vector<ExprPtr>& all, Symbols& symbols, bool printed = false) {
    for (const ExprPtr& e : all) TRY(expr(e, symbols, printed));
    return {};
  }

  Result<> visit(Stmt& stmt, Symbols& symbols) {
    stmt.exported = symbols.top_level() && !in_block_;
    switch (stmt.kind) {
      case StmtKind::output:
        return exprs(static_cast<OutputStmt&>(stmt).parts, symbols, true);
      case StmtKind::set: {
        auto& s = static_cast<SetStmt&>(stmt);
        TRY(expr(s.target, symbols));
        return expr(s.value, symbols);
      }
      case StmtKind::set_block:
        return set_block(static_cast<SetBlockStmt&>(stmt), symbols);
      case StmtKind::if_:
        return if_block(static_cast<IfStmt&>(stmt), symbols);
      case StmtKind::for_:
        return for_loop(static_cast<ForStmt&>(stmt), symbols);
      case StmtKind::macro:
      case StmtKind::call_block:
        return macro(static_cast<MacroStmt&>(stmt), symbols);
      case StmtKind::filter_block:
        return filter_block(static_cast<FilterBlockStmt&>(stmt), symbols);
      case StmtKind::with:
        return with(static_cast<WithStmt&>(stmt), symbols);
      case StmtKind::autoescape:
        return autoescape(static_cast<AutoescapeStmt&>(stmt), symbols);
      case StmtKind::block:
        return block(static_cast<BlockStmt&>(stmt), symbols);
      case StmtKind::break_:
      case StmtKind::continue_:
        if (loops_ > 0) return {};
        return fail_at(stmt.at, "'{}' outside of a loop",
                       stmt.kind == StmtKind::break_ ? "break" : "continue");
    }
    return {};
  }

  Result<> set_block(SetBlockStmt& s, Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    Analysis(inner).body(s.body);
    if (s.filter) Analysis(inner).read(s.filter);
    s.scope = inner.scope();
    s.input = escape();
    const bool outer = std::exchange(conditional_, false);
    TRY(body(s.body, inner));
    TRY(expr(s.filter, inner));
    conditional_ = outer;
    return expr(s.target, symbols);
  }

  Result<> if_block(IfStmt& s, Symbols& symbols) {
    const bool outer = std::exchange(conditional_, true);
    TRY(exprs(s.tests, symbols));
    for (Body& b : s.bodies) TRY(body(b, symbols));
    TRY(body(s.otherwise, symbols));
    conditional_ = outer;
    return {};
  }

  Result<> for_loop(ForStmt& s, Symbols& symbols) {
    Mentions mentions({"loop"});
    mentions.body(s.body);
    s.extended = s.recursive || s.scoped_blocks || mentions.found().contains("loop");
    s.made = escape();
    TRY(check_loop_targets(*s.target));
    TRY(expr(s.iter, symbols));
    if (s.test) TRY(loop_test(s, symbols));

    Function own{symbols.function(), {}};
    Function* const function = s.recursive ? &own : symbols.function();
    Symbols inner(&symbols, function);
    Symbols other(&symbols, function);
    if (s.extended) s.loop_slot = inner.parameter("loop");
    Analysis(inner).write(*s.target, true);
    Analysis(inner).body(s.body);
    Analysis(other).body(s.otherwise);
    s.scope = inner.scope();
    s.else_scope = other.scope();
    TRY(expr(s.target, inner));
    const bool outer = std::exchange(conditional_, false);
    const int loops = std::exchange(loops_, s.recursive ? 1 : loops_ + 1);
    TRY(body(s.body, inner));
    loops_ = s.recursive ? 0 : loops;
    TRY(body(s.otherwise, other));
    loops_ = loops;
    conditional_ = outer;
    s.slots = static_cast<uint32_t>(own.slots.size());
    return {};
  }

  // The filter of a loop runs as a function of its own, on the items before the loop sees them.
  Result<> loop_test(ForStmt& s, Symbols& symbols) {
    Function function{symbols.function(), {}};
    Symbols inner(&symbols, &function);
    Analysis(inner).write(*s.target, true);
    Analysis(inner).read(s.test);
    s.test_scope = inner.scope();
    s.test_target = copy_target(*s.target);
    TRY(expr(s.test_target, inner));
    const bool outer = std::exchange(conditional_, false);
    TRY(expr(s.test, inner));
    conditional_ = outer;
    s.test_slots = static_cast<uint32_t>(function.slots.size());
    return {};
  }

  static ExprPtr copy_target(const Expr& target) {
    auto copy = std::make_unique<Expr>();
    copy->kind = target.kind;
    copy->at = target.at;
    copy->name = target.name;
    for (const ExprPtr& kid : target.kids) copy->kids.push_back(copy_target(*kid));
    return copy;
  }

  static Result<> check_loop_targets(const Expr& target) {
    if (target.kind == ExprKind::name && target.name == "loop") {
      return fail_at(target.at, "can't assign to the special variable 'loop'");
    }
    for (const ExprPtr& kid : target.kids) TRY(check_loop_targets(*kid));
    return {};
  }

  Result<> macro(MacroStmt& s, Symbols& symbols) {
    Function function{symbols.function(), {}};
    Symbols inner(&symbols, &function);
    Mentions mentions({"caller", "kwargs", "varargs"});
    mentions.body(s.body);
    const auto parameter = [&](const char* name) {
      for (const ExprPtr& param : s.params) {
        if (param->name == name) return -1;
      }
      return mentions.found().contains(name) ? static_cast<int>(inner.parameter(name)) : -1;
    };
    for (const ExprPtr& param : s.params) Analysis(inner).write(*param, true);
    for (const ExprPtr& value : s.defaults) Analysis(inner).read(value);
    TRY(check_caller_parameter(s, mentions));
    s.caller_slot = parameter("caller");
    s.kwargs_slot = parameter("kwargs");
    s.varargs_slot = parameter("varargs");
    Analysis(inner).body(s.body);
    s.scope = inner.scope();
    const bool outer = std::exchange(conditional_, false);
    const int loops = std::exchange(loops_, 0);
    TRY(exprs(s.params, inner));
    TRY(exprs(s.defaults, inner));
    TRY(body(s.body, inner));
    loops_ = loops;
    conditional_ = outer;
    s.slots = static_cast<uint32_t>(function.slots.size());
    if (s.kind == StmtKind::macro) s.slot = symbols.slot(s.name);
    return expr(s.call, symbols);
  }

  static Result<> check_caller_parameter(const MacroStmt& s, const Mentions& mentions) {
    if (!mentions.found().contains("caller")) return {};
    for (size_t i = 0; i < s.params.size(); i++) {
      if (s.params[i]->name == "caller" && i + s.defaults.size() < s.params.size()) {
        return fail_at(s.at, "the parameter 'caller' must be left out or have a default");
      }
    }
    return {};
  }

  Result<> filter_block(FilterBlockStmt& s, Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    Analysis(inner).body(s.body);
    Analysis(inner).read(s.filter);
    s.scope = inner.scope();
    s.input = escape();
    const bool outer = std::exchange(conditional_, false);
    TRY(body(s.body, inner));
    TRY(expr(s.filter, inner));
    conditional_ = outer;
    return {};
  }

  Result<> with(WithStmt& s, Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    for (const ExprPtr& target : s.targets) Analysis(inner).write(*target, true);
    Analysis(inner).body(s.body);
    s.scope = inner.scope();
    TRY(exprs(s.values, symbols));
    TRY(exprs(s.targets, inner));
    const bool outer = std::exchange(conditional_, false);
    TRY(body(s.body, inner));
    conditional_ = outer;
    return {};
  }

  Result<> autoescape(AutoescapeStmt& s, Symbols& symbols) {
    Symbols inner(&symbols, symbols.function());
    Analysis(inner).read(s.value);
    Analysis(inner).body(s.body);
    s.scope = inner.scope();
    const bool outer = std::exchange(conditional_, false);
    TRY(expr(s.value, inner));
    const bool escaping = escaping_, unknown = volatile_;
    const std::optional<bool> value = constant_truth(*s.value, folding(false));
    if (value)
      escaping_ = *value;
    else
      volatile_ = true;
    TRY(body(s.body, inner));
    escaping_ = escaping;
    volatile_ = unknown;
    conditional_ = outer;
    return {};
  }

  // A block sees the context and what the top level has assigned, the scopes around it only where it is scoped; what it
  // assigns is its own. Jinja compiles blocks behind all else, so what escapes around them does not count.
  Result<> block(BlockStmt& s, Symbols& symbols) {
    if (!blocks_.emplace(s.name, &s).second) return fail_at(s.at, "block '{}' is defined twice", s.name);
    if (s.scoped) {
      for (const std::string& name : symbols.stored())
        s.around.emplace_back(frozen_string(name, true), symbols.slot(name));
    }
    Function function;
    Symbols inner(nullptr, &function);
    Mentions mentions({"self", "super"});
    mentions.body(s.body);
    const auto parameter = [&](const char* name) {
      return mentions.found().contains(name) ? static_cast<int>(inner.parameter(name)) : -1;
    };
    s.self_slot = parameter("self");
    s.super_slot = parameter("super");
    Analysis(inner).body(s.body);
    const bool escaping = std::exchange(escaping_, false), unknown = std::exchange(volatile_, false);
    s.scope = inner.scope();
    const bool outer = std::exchange(conditional_, false);
    const int loops = std::exchange(loops_, 0);
    const bool around = std::exchange(in_block_, true);
    TRY(body(s.body, inner));
    in_block_ = around;
    escaping_ = escaping;
    volatile_ = unknown;
    loops_ = loops;
    conditional_ = outer;
    s.slots = static_cast<uint32_t>(function.slots.size());
    return {};
  }

  std::map<std::string, const BlockStmt*, std::less<>> blocks_;
  bool autoescapes_ = false;  // anywhere in the template
  bool escaping_ = false;     // what holds here, as far as it is known
  bool volatile_ = false;     // and whether it is not
  bool in_block_ = false;
  bool conditional_ = false;  // inside an if or a conditional expression
  int loops_ = 0;             // loops around, in this function
};

}  // namespace

Result<> resolve(Tree& tree) { return Binder().tree(tree); }

}  // namespace brass::jinja
