#include "text/jinja_interp.h"

#include "text/jinja_loop.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"

namespace brass::jinja {

void Activation::clear() {
  if (slots_.empty()) return;
  heap()->bury(std::exchange(slots_, {}));
  outer_ = Ref<Activation>();
  context_ = Ref<Dict>();
}

Interpreter::Interpreter(Heap& heap, const RenderOptions& options, const Tree& tree, const Value& context)
    : Runtime(heap, options), tree_(tree), context_(context), exported_(heap.dict()) {}

Result<Text> Interpreter::run() {
  Text text;
  out_ = &text;
  now_ = make<Activation>(&heap(), tree_.slots, Ref<Dict>(&exported_.mapping()));
  if (tree_.self_slot >= 0) (*now_)[static_cast<size_t>(tree_.self_slot)] = self_reference(now_->context());
  enter(tree_.scope);
  TRY(exec(tree_.body));
  return text;
}

// Statements.

Result<Interpreter::Flow> Interpreter::exec(const Body& body) {
  for (const auto& stmt : body) {
    Result<Flow> flow = exec(*stmt);
    if (!flow) [[unlikely]]
      return located(stmt->at, std::move(flow));
    if (*flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::exec(const Stmt& stmt) {
  TRY(step());
  switch (stmt.kind) {
    case StmtKind::output:
      TRY(output(static_cast<const OutputStmt&>(stmt)));
      break;
    case StmtKind::set:
      TRY(set(static_cast<const SetStmt&>(stmt)));
      break;
    case StmtKind::set_block:
      return set_block(static_cast<const SetBlockStmt&>(stmt));
    case StmtKind::if_:
      return if_block(static_cast<const IfStmt&>(stmt));
    case StmtKind::for_:
      return for_loop(static_cast<const ForStmt&>(stmt));
    case StmtKind::macro: {
      const auto& macro = static_cast<const MacroStmt&>(stmt);
      slot(macro.slot) = make_macro(macro);
      if (macro.exported) exported_.mapping().set(string(macro.name), slot(macro.slot));
      break;
    }
    case StmtKind::call_block:
      TRY(call_block(static_cast<const MacroStmt&>(stmt)));
      break;
    case StmtKind::filter_block:
      return filter_block(static_cast<const FilterBlockStmt&>(stmt));
    case StmtKind::with:
      return with(static_cast<const WithStmt&>(stmt));
    case StmtKind::autoescape:
      return autoescape_block(static_cast<const AutoescapeStmt&>(stmt));
    case StmtKind::block:
      TRY(block(static_cast<const BlockStmt&>(stmt)));
      break;
    case StmtKind::break_:
      return Flow::broken;
    case StmtKind::continue_:
      return Flow::continued;
  }
  return Flow::normal;
}

Result<> Interpreter::check_output() {
  if (out_->size() > options().max_output)
    return fail("template writes more than {} bytes", options().max_output);
  return {};
}

Result<> Interpreter::write(const Value& value) {
  TRY(append_str(*this, *out_, value));
  return check_output();
}

Result<> Interpreter::write_text(const Value& value) {
  if (!value.is_string()) return fail("the block's result must be text, not {}", jinja::type_name(value));
  return write(value);
}

Result<> Interpreter::output(const OutputStmt& stmt) {
  for (const ExprPtr& part : stmt.parts) {
    if (part->kind == ExprKind::data) {
      TRY(step());
      TRY(write(part->value));
      continue;
    }
    const Value value = TRY(eval(*part));
    if (escapes(part->escape)) {
      out_->append(TRY(to_html(*this, value)));
      TRY(check_output());
    } else {
      TRY(write(value));
    }
  }
  return {};
}

Result<> Interpreter::set(const SetStmt& stmt) {
  TRY(check_namespaces(*stmt.target));
  return assign(*stmt.target, TRY(eval(*stmt.value)), stmt.exported);
}

Result<Interpreter::Flow> Interpreter::capture(const Body& body, Text& text) {
  Text* const outer = std::exchange(out_, &text);
  Result<Flow> flow = exec(body);
  out_ = outer;
  return flow;
}

Result<Interpreter::Flow> Interpreter::set_block(const SetBlockStmt& stmt) {
  enter(stmt.scope);
  Text text;
  const Flow flow = TRY(capture(stmt.body, text));
  if (flow != Flow::normal) return flow;
  Value value = written(std::move(text), stmt.filter ? escapes(stmt.input) : autoescape());
  if (stmt.filter) {
    const Value* const outer = std::exchange(filter_input_, &value);
    Value filtered = TRY(eval(*stmt.filter));
    filter_input_ = outer;
    value = autoescape() ? written(TRY(to_text(*this, filtered)), true) : std::move(filtered);
  }
  TRY(assign(*stmt.target, std::move(value), stmt.exported));
  leave(stmt.scope);
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::if_block(const IfStmt& stmt) {
  for (size_t i = 0; i < stmt.tests.size(); i++) {
    if (TRY(holds(*stmt.tests[i]))) return exec(stmt.bodies[i]);
  }
  return exec(stmt.otherwise);
}

Result<> Interpreter::call_block(const MacroStmt& stmt) {
  const Value caller = make_macro(stmt);
  if (stmt.call) return write_text(TRY(call_expr(*stmt.call, &caller)));
  return write_text(TRY(call(caller, {})));  // a generation block
}

Result<Interpreter::Flow> Interpreter::filter_block(const FilterBlockStmt& stmt) {
  enter(stmt.scope);
  Text text;
  const Flow flow = TRY(capture(stmt.body, text));
  if (flow != Flow::normal) return flow;
  const Value input = written(std::move(text), escapes(stmt.input));
  const Value* const outer = std::exchange(filter_input_, &input);
  const Value result = TRY(eval(*stmt.filter));
  filter_input_ = outer;
  TRY(write_text(result));
  leave(stmt.scope);
  return Flow::normal;
}

Result<Interpreter::Flow> Interpreter::with(const WithStmt& stmt) {
  enter(stmt.scope);
  for (size_t i = 0; i < stmt.targets.size(); i++) {
    Value value = TRY(eval(*stmt.values[i]));
    TRY(assign(*stmt.targets[i], std::move(value), false));
  }
  const Flow flow = TRY(exec(stmt.body));
  if (flow == Flow::normal) leave(stmt.scope);
  return flow;
}

// Loops.

Result<Interpreter::Flow> Interpreter::for_loop(const ForStmt& stmt) {
  const Value items = TRY(eval(*stmt.iter));
  if (!stmt.recursive) return run_loop(stmt, items, 0);
  const Value text = TRY(recurse(stmt, now_, items, 0));
  TRY(write(text));
  return Flow::normal;
}

Result<Value> Interpreter::recurse(const ForStmt& loop, const Ref<Activation>& closure, const Value& items,
                                   int depth) {
  TRY(check_stack());
  if (++depth_ > options().max_recursion)
    return fail("loop recurses deeper than {}", options().max_recursion);
  const Ref<Activation> outer = std::exchange(now_, make<Activation>(&heap(), loop.slots, closure));
  Text text;
  Text* const sink = std::exchange(out_, &text);
  TRY(run_loop(loop, items, depth));
  out_ = sink;
  now_ = outer;
  depth_--;
  return written(std::move(text), escapes(loop.made));
}

// What a condition lets through is made of the loop's variables: tuples, where there are several.
Value Interpreter::rebuilt(const Expr& target, Value item) {
  if (target.kind != ExprKind::tuple) return item;
  std::vector<Value> parts;
  for (const ExprPtr& kid : target.kids)
    parts.push_back(rebuilt(*kid, kid->kind == ExprKind::tuple ? Value() : slot(kid->slot)));
  return heap().tuple(std::move(parts));
}

// The items that pass the loop's condition, which runs in an activation of its own as they are asked for.
Result<Value> Interpreter::filtered(const ForStmt& stmt, const Value& items) {
  const Ref<Iterator> source = TRY(iterate(*this, items));
  const Ref<Activation> around = stmt.recursive ? Ref<Activation>(now_->outer()) : now_;
  const Ref<Activation> own = make<Activation>(&heap(), stmt.test_slots, around);
  const Ref<Activation> outer = std::exchange(now_, own);
  enter(stmt.test_scope);
  now_ = outer;
  return generator(*this, "generator object t_1",
                   [this, &stmt, source, own](Runtime&, Value& out) -> Result<bool> {
                     while (TRY(source->next(*this, out))) {
                       const Ref<Activation> caller = std::exchange(now_, own);
                       TRY(assign(*stmt.test_target, out, false));
                       const bool passes = TRY(holds(*stmt.test));
                       out = rebuilt(*stmt.test_target, std::move(out));
                       now_ = caller;
                       if (passes) return true;
                     }
                     return false;
                   });
}

Result<Interpreter::Flow> Interpreter::run_loop(const ForStmt& stmt, const Value& items, int depth) {
  const Value source = stmt.test ? TRY(filtered(stmt, items)) : items;
  const Ref<Iterator> iterator = TRY(iterate(*this, source));
  Ref<Loop> loop;
  if (stmt.extended) {
    Loop::Recurse again;
    if (stmt.recursive) {
      again = [this, &stmt, closure = Ref<Activation>(now_->outer())](const Value& inner, int level) {
        return recurse(stmt, closure, inner, level);
      };
    }
    loop = make<Loop>(&heap(), source, iterator, std::move(again), depth);
  }
  bool completed = false;  // whether any round reached its end: what `else` asks in Jinja
  for (Value next; loop ? TRY(loop->advance(*this, next)) : TRY(iterator->next(*this, next));) {
    TRY(assign(*stmt.target, std::move(next), false));
    if (loop) (*now_)[stmt.loop_slot] = Value::object(loop);
    enter(stmt.scope);
    const Flow flow = TRY(exec(stmt.body));
    if (flow == Flow::broken) break;
    completed |= flow == Flow::normal;
  }
  leave(stmt.scope);
  if (completed || stmt.otherwise.empty()) return Flow::normal;
  enter(stmt.else_scope);
  const Flow flow = TRY(exec(stmt.otherwise));
  if (flow == Flow::normal) leave(stmt.else_scope);
  return flow;
}

// Variables.

Value& Interpreter::slot(Slot at) {
  Activation* activation = now_.get();
  for (uint32_t i = 0; i < at.hops; i++) activation = activation->outer();
  return (*activation)[at.index];
}

const Value& Interpreter::resolved(const Value& name) {
  // What blocks see changes as the top level assigns; else a name means one thing for the whole render.
  const auto [known, fresh] = resolved_.try_emplace(name.raw());
  if (fresh || !tree_.blocks.empty()) known->second = resolve(name);
  return known->second;
}

Value Interpreter::resolve(const Value& name) const {
  const std::string_view key = name.bytes();
  if (const Value* found = now_->context()->find(key)) return *found;
  if (const Value* found = context_.mapping().find(key)) return *found;
  if (const Builtin* global = find_global(key)) {
    return Value::object(make<GlobalFunction>(exported_.mapping().heap(), global));
  }
  return Value::undefined(Ref<Object>(name.raw()));
}

void Interpreter::enter(const Scope& scope) {
  for (const Load& load : scope.loads) {
    Value& target = (*now_)[load.index];
    switch (load.kind) {
      case Load::resolve:
        target = resolved(load.name);
        break;
      case Load::alias:
        target = slot(load.from);
        break;
      case Load::undefine:
        target = Value();
        break;
    }
  }
}

void Interpreter::leave(const Scope& scope) {
  for (const uint32_t index : scope.owned) (*now_)[index] = Value();
}

Result<> Interpreter::check_namespaces(const Expr& target) {
  if (target.kind == ExprKind::ns_target && slot(target.slot).as<Namespace>() == nullptr) {
    return located(target.at,
                   Result<>(fail("'{}' is not a namespace; cannot assign to its attribute", target.name)));
  }
  for (const ExprPtr& kid : target.kids) TRY(check_namespaces(*kid));
  return {};
}

Result<> Interpreter::assign(const Expr& target, Value value, bool exported) {
  if (target.kind == ExprKind::tuple) return unpack(target, value, exported);
  if (target.kind == ExprKind::ns_target) {
    auto* space = slot(target.slot).as<Namespace>();
    if (space == nullptr) return fail("'{}' is not a namespace", target.name);
    space->set(target.value, std::move(value));
    return {};
  }
  if (exported && !tree_.blocks.empty()) exported_.mapping().set(target.value, value);
  slot(target.slot) = std::move(value);
  return {};
}

Result<> Interpreter::unpack(const Expr& target, const Value& value, bool exported) {
  const Ref<Iterator> it = TRY(iterate(*this, value));
  std::vector<Value> values;
  for (Value next; values.size() <= target.kids.size() && TRY(it->next(*this, next));) values.push_back(next);
  if (values.size() != target.kids.size()) {
    return fail("{} values to unpack, expected {}",
                values.size() < target.kids.size() ? "too few" : "too many", target.kids.size());
  }
  for (size_t i = 0; i < values.size(); i++) TRY(assign(*target.kids[i], std::move(values[i]), exported));
  return {};
}

// Macros.

namespace {

class Macro final : public Opaque {
 public:
  Macro(Heap* heap, Interpreter& interpreter, const MacroStmt& stmt, Ref<Activation> closure)
      : Opaque(heap), interpreter_(interpreter), stmt_(stmt), closure_(std::move(closure)) {}
  void clear() override { closure_ = Ref<Activation>(); }
  std::string_view type_name() const override { return "Macro"; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime&, Args args) override {
    return interpreter_.call_macro(stmt_, closure_, std::move(args));
  }
  Result<Value> attribute(Runtime& rt, const Value& name) override {
    const std::string& what = name.bytes();
    if (what == "name") return stmt_.name.empty() ? Value::none() : rt.string(stmt_.name);
    if (what == "catch_kwargs") return Value::boolean(stmt_.kwargs_slot >= 0);
    if (what == "catch_varargs") return Value::boolean(stmt_.varargs_slot >= 0);
    if (what == "caller") return Value::boolean(stmt_.caller_slot >= 0);
    if (what == "arguments") {
      std::vector<Value> names;
      for (const ExprPtr& param : stmt_.params) names.push_back(rt.string(param->name));
      return rt.heap().tuple(std::move(names));
    }
    return Value::undefined(Ref<Object>(name.raw()));
  }
  std::string repr() const override {
    return stmt_.name.empty() ? "<Macro anonymous>" : fmt::format("<Macro '{}'>", stmt_.name);
  }

 private:
  Interpreter& interpreter_;
  const MacroStmt& stmt_;
  Ref<Activation> closure_;
};

// Takes the named argument `name` out of `args`, if it is there.
std::optional<Value> take_named(Args& args, std::string_view name) {
  for (size_t i = 0; i < args.named.size(); i++) {
    if (args.named[i].first.bytes() != name) continue;
    Value value = std::move(args.named[i].second);
    args.named.erase(args.named.begin() + static_cast<std::ptrdiff_t>(i));
    return value;
  }
  return std::nullopt;
}

}  // namespace

Value Interpreter::make_macro(const MacroStmt& stmt) {
  return Value::object(make<Macro>(&heap(), *this, stmt, now_));
}

Result<Value> Interpreter::call_macro(const MacroStmt& macro, const Ref<Activation>& closure, Args args) {
  TRY(check_stack());
  if (++depth_ > options().max_recursion)
    return fail("macro calls nested deeper than {}", options().max_recursion);
  const bool escaped = autoescape();
  const Ref<Activation> outer = std::exchange(now_, make<Activation>(&heap(), macro.slots, closure));
  TRY(bind_macro(macro, args));
  Text text;
  TRY(capture(macro.body, text));
  now_ = outer;
  depth_--;
  return written(std::move(text), escaped);
}

// Puts arguments into a macro's variables, in the order of Jinja's Macro object: positional, by name,
// defaults; then caller, kwargs, varargs where the body asks for them.
Result<> Interpreter::bind_macro(const MacroStmt& macro, Args& args) {
  const std::string_view name =
      macro.name.empty() ? std::string_view("caller") : std::string_view(macro.name);
  const size_t count = macro.params.size(), given = args.positional.size();
  enter(macro.scope);
  std::vector<bool> missing(count, false);
  bool found_caller = false;
  for (size_t i = 0; i < count; i++) {
    const Expr& param = *macro.params[i];
    if (param.name == "caller") found_caller = true;
    std::optional<Value> value =
        i < given ? std::optional(std::move(args.positional[i])) : take_named(args, param.name);
    missing[i] = !value;
    slot(param.slot) = value ? std::move(*value) : Value();
  }
  if (macro.caller_slot >= 0 && !found_caller) {
    auto caller = take_named(args, "caller");
    (*now_)[static_cast<size_t>(macro.caller_slot)] = caller ? std::move(*caller) : undefined("caller");
  }
  if (macro.kwargs_slot >= 0) {
    const Value rest = heap().dict();
    for (auto& [key, value] : args.named) rest.mapping().set(std::move(key), std::move(value));
    (*now_)[static_cast<size_t>(macro.kwargs_slot)] = rest;
  } else if (!args.named.empty()) {
    return fail("macro '{}' takes no argument named '{}'", name, args.named[0].first.bytes());
  }
  if (macro.varargs_slot >= 0) {
    std::vector<Value> rest;
    for (size_t i = count; i < given; i++) rest.push_back(std::move(args.positional[i]));
    (*now_)[static_cast<size_t>(macro.varargs_slot)] = heap().tuple(std::move(rest));
  } else if (given > count) {
    return fail("macro '{}' takes at most {} arguments, got {}", name, count, given);
  }
  for (size_t i = 0; i < count; i++) {
    if (!missing[i]) continue;
    const size_t without = count - macro.defaults.size();  // parameters that have no default
    Slot at = macro.params[i]->slot;
    Value value = i < without ? undefined(macro.params[i]->name) : TRY(eval(*macro.defaults[i - without]));
    slot(at) = std::move(value);
  }
  return {};
}

}  // namespace brass::jinja
