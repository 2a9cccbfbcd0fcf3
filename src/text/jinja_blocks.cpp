// Blocks, `self` that calls them, and what escapes HTML (jinja_interp.h).
#include "text/jinja_interp.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"

namespace brass::jinja {
namespace {

// A block as a value, to be called: self.name. It sees the context that `self` was found in.
class BlockReference final : public Opaque {
 public:
  BlockReference(Heap* heap, Interpreter& interpreter, const BlockStmt& stmt, Ref<Dict> context)
      : Opaque(heap), interpreter_(interpreter), stmt_(stmt), context_(std::move(context)) {}
  void clear() override { context_ = Ref<Dict>(); }
  std::string_view type_name() const override { return "BlockReference"; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime&, Args args) override {
    if (!args.positional.empty() || !args.named.empty())
      return fail("block '{}' takes no arguments", stmt_.name);
    return interpreter_.render_block(stmt_, context_);
  }
  Result<Value> attribute(Runtime& rt, const Value& name) override {
    if (name.bytes() == "name") return rt.string(stmt_.name);
    return Value::undefined(Ref<Object>(name.raw()));
  }
  std::string repr() const override { return "<jinja2.runtime.BlockReference object at 0x7f0000000000>"; }

 private:
  Interpreter& interpreter_;
  const BlockStmt& stmt_;
  Ref<Dict> context_;
};

// `self`: the template's blocks by their names.
class TemplateReference final : public Opaque {
 public:
  TemplateReference(Heap* heap, Interpreter& interpreter, Ref<Dict> context)
      : Opaque(heap), interpreter_(interpreter), context_(std::move(context)) {}
  void clear() override { context_ = Ref<Dict>(); }
  std::string_view type_name() const override { return "TemplateReference"; }
  bool iterable() const override { return true; }  // Python takes what has [] for that; there is no block 0
  Result<Value> attribute(Runtime& rt, const Value& name) override {
    const BlockStmt* stmt = interpreter_.find_block(name.bytes());
    if (stmt == nullptr) return Value::undefined(Ref<Object>(name.raw()));
    return Value::object(make<BlockReference>(&rt.heap(), interpreter_, *stmt, context_));
  }
  std::string repr() const override { return "<TemplateReference None>"; }

 private:
  Interpreter& interpreter_;
  Ref<Dict> context_;
};

}  // namespace

const BlockStmt* Interpreter::find_block(std::string_view name) const {
  const auto found = tree_.blocks.find(name);
  return found == tree_.blocks.end() ? nullptr : found->second;
}

Value Interpreter::self_reference(const Ref<Dict>& context) {
  return Value::object(make<TemplateReference>(&heap(), *this, context));
}

Result<> Interpreter::block(const BlockStmt& stmt) {
  if (stmt.required) return fail("the required block '{}' has no contents", stmt.name);
  return run_block(stmt, stmt.scoped ? scoped_context(stmt) : now_->context());
}

// What a scoped block is given: the context here, and above it the variables around the block.
Ref<Dict> Interpreter::scoped_context(const BlockStmt& stmt) {
  Ref<Dict> context = make<Dict>(&heap());
  for (const auto& [name, value] : now_->context()->entries()) context->set(name, value);
  for (const auto& [name, at] : stmt.around) {
    const Value& value = slot(at);
    // What was not assigned yet, or not found, is missing.
    const bool missing =
        value.is_undefined() && (value.raw() == nullptr ||
                                 (value.raw()->heap() == nullptr && value.undefined_name() == name.bytes()));
    if (!missing) context->set(name, value);
  }
  return context;
}

Result<> Interpreter::run_block(const BlockStmt& stmt, const Ref<Dict>& context) {
  TRY(check_stack());
  if (++depth_ > options().max_recursion)
    return fail("blocks nested deeper than {}", options().max_recursion);
  const Ref<Activation> outer = std::exchange(now_, make<Activation>(&heap(), stmt.slots, context));
  if (stmt.self_slot >= 0) (*now_)[static_cast<size_t>(stmt.self_slot)] = self_reference(context);
  if (stmt.super_slot >= 0) (*now_)[static_cast<size_t>(stmt.super_slot)] = undefined("super");
  enter(stmt.scope);
  TRY(exec(stmt.body));
  now_ = outer;
  depth_--;
  return {};
}

Result<Value> Interpreter::render_block(const BlockStmt& stmt, const Ref<Dict>& context) {
  Text text;
  Text* const outer = std::exchange(out_, &text);
  TRY(run_block(stmt, context));
  out_ = outer;
  return written(std::move(text), autoescape());
}

// What a loop leaves by `break` or `continue` stays as it is: Jinja jumps over what would set it back.
Result<Interpreter::Flow> Interpreter::autoescape_block(const AutoescapeStmt& stmt) {
  enter(stmt.scope);
  const bool outer = autoescape();
  set_autoescape(TRY(holds(*stmt.value)));
  const Flow flow = TRY(exec(stmt.body));
  if (flow != Flow::normal) return flow;
  set_autoescape(outer);
  leave(stmt.scope);
  return flow;
}

}  // namespace brass::jinja
