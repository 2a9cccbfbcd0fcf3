// Runs a syntax tree.
//
// Owns: Interpreter: statements, expressions, scopes, macros, loops, the output with its provenance.
// Must not know: individual filters and tests, JSON, messages.
// Invariants: one interpreter per render, on one thread; the tree and the context are only read. The first
// error ends the render and carries the place of the innermost expression that failed.
#pragma once

#include <unordered_map>

#include "text/jinja_ast.h"
#include "text/jinja_runtime.h"

namespace brass::jinja {

// The variables of one run of a function: the template, a macro, a recursive loop, a loop's filter.
class Activation final : public Container {
 public:
  Activation(Heap* heap, size_t slots, Ref<Activation> outer)
      : Container(heap), slots_(slots), outer_(std::move(outer)), context_(outer_->context_) {
    recharge(slots * sizeof(Value));
  }
  // Of the template, or of a block.
  Activation(Heap* heap, size_t slots, Ref<Dict> context)
      : Container(heap), slots_(slots), context_(std::move(context)) {
    recharge(slots * sizeof(Value));
  }
  ~Activation() override { clear(); }
  std::string_view type_name() const override { return "activation"; }
  void clear() override;
  Value& operator[](size_t i) { return slots_[i]; }
  Activation* outer() const { return outer_.get(); }
  // What names mean here before the render's own context is asked.
  const Ref<Dict>& context() const { return context_; }

 private:
  std::vector<Value> slots_;
  Ref<Activation> outer_;
  Ref<Dict> context_;
};

class Interpreter final : public Runtime {
 public:
  Interpreter(Heap& heap, const RenderOptions& options, const Tree& tree, const Value& context);
  Result<Text> run();

  // An expression without variables.
  Result<Value> evaluate(const Expr& expr) { return eval(expr); }

  // For the objects that call back.
  Result<Value> call_macro(const MacroStmt& macro, const Ref<Activation>& closure, Args args);
  Result<Value> render_block(const BlockStmt& stmt, const Ref<Dict>& context);
  const BlockStmt* find_block(std::string_view name) const;
  Result<Value> recurse(const ForStmt& loop, const Ref<Activation>& closure, const Value& items, int depth);

 private:
  enum class Flow : uint8_t { normal, broken, continued };

  // Statements.
  Result<Flow> exec(const Body& body);
  Result<Flow> exec(const Stmt& stmt);
  Result<> output(const OutputStmt& stmt);
  Result<> set(const SetStmt& stmt);
  Result<Flow> set_block(const SetBlockStmt& stmt);
  Result<Flow> if_block(const IfStmt& stmt);
  Result<Flow> for_loop(const ForStmt& stmt);
  Result<Flow> run_loop(const ForStmt& stmt, const Value& items, int depth);
  Result<Value> filtered(const ForStmt& stmt, const Value& items);
  Value rebuilt(const Expr& target, Value item);
  Result<> call_block(const MacroStmt& stmt);
  Result<Flow> filter_block(const FilterBlockStmt& stmt);
  Result<Flow> with(const WithStmt& stmt);
  Result<> block(const BlockStmt& stmt);
  Result<> run_block(const BlockStmt& stmt, const Ref<Dict>& context);
  Ref<Dict> scoped_context(const BlockStmt& stmt);
  Value self_reference(const Ref<Dict>& context);
  Result<Flow> autoescape_block(const AutoescapeStmt& stmt);
  bool escapes(Escape where) const { return where == Escape::on || (where == Escape::asked && autoescape()); }
  // Runs a body with its output caught in `text`.
  Result<Flow> capture(const Body& body, Text& text);
  Result<> write(const Value& value);
  Result<> write_text(const Value& value);  // of a call or filter block: only text will do
  Result<> check_output();

  // Variables.
  void enter(const Scope& scope);
  void leave(const Scope& scope);
  Value& slot(Slot at);
  Value resolve(const Value& name) const;
  const Value& resolved(const Value& name);  // the same, remembered
  Result<> assign(const Expr& target, Value value, bool exported);
  Result<> unpack(const Expr& target, const Value& value, bool exported);
  Result<> check_namespaces(const Expr& target);
  Value make_macro(const MacroStmt& stmt);
  Result<> bind_macro(const MacroStmt& macro, Args& args);

  // Expressions.
  Result<Value> eval(const Expr& expr);
  Result<Value> eval_here(const Expr& expr);
  // Truth of an expression.
  Result<bool> holds(const Expr& expr);
  // The value of an expression: in `own`, or where it is a constant, a variable or a part of the input that
  // place itself, which stays as it is for as long as one expression is evaluated.
  Result<const Value*> look(const Expr& expr, Value& own);
  Result<const Value*> look_inside(const Expr& expr,
                                   Value& own);  // an attribute, or an item that is no slice
  Result<std::vector<Value>> eval_all(const std::vector<ExprPtr>& exprs);
  Result<Value> dict(const Expr& expr);
  Result<Value> item(const Expr& expr);
  Result<Value> conditional(const Expr& expr);
  Result<bool> comparison(const Expr& expr);
  Result<Value> call_expr(const Expr& expr, const Value* caller);
  Result<Value> filter_or_test(const Expr& expr);
  Result<> arguments(const Expr& expr, Args& args);
  // Gives an error that has no place yet this one.
  template <class T>
  Result<T> located(Position at, Result<T> result) {
    if (result || located_) [[likely]]
      return result;
    located_ = true;
    return within(fmt::format("template line {}, column {}", at.line, at.column), std::move(result));
  }

  const Tree& tree_;
  Value context_;
  std::unordered_map<const Object*, Value> resolved_;  // by the name's object in the tree
  Value exported_;                                     // dict: what the top level assigned, for blocks
  Ref<Activation> now_;
  Text* out_ = nullptr;
  const Value* filter_input_ = nullptr;  // what a filter block's innermost filter gets
  int depth_ = 0;
  bool located_ = false;
};

}  // namespace brass::jinja
