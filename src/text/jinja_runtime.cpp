#include "text/jinja_runtime.h"

#include <algorithm>

#include "base/check.h"
#include "text/jinja_ops.h"
#include "text/jinja_repr.h"

namespace brass::jinja {

// Stack that a render may use below its start; smaller than what any thread has.
constexpr std::ptrdiff_t kMaxStack = 3 << 20;

Runtime::Runtime(Heap& heap, const RenderOptions& options)
    : heap_(heap), options_(options), stack_base_(static_cast<const char*>(__builtin_frame_address(0))) {}

Result<> Runtime::check_stack() const {
  if (stack_base_ - static_cast<const char*>(__builtin_frame_address(0)) > kMaxStack) {
    return fail_hint("the template recurses without end, or a value is nested too deeply",
                     "recursion is deeper than the stack allows");
  }
  return {};
}

std::unexpected<Error> Runtime::over_budget() const {
  if (heap_.exhausted()) return fail("template needs more than {} bytes of memory", options_.max_memory);
  return fail("template takes more than {} steps", options_.max_steps);
}

Result<> Runtime::room(size_t bytes) {
  if (!heap_.fits(bytes)) return fail("template needs more than {} bytes of memory", options_.max_memory);
  return {};
}

Ref<Object> Runtime::undefined_name(std::string_view name) {
  return make<Str>(&heap_, Text(std::string(name), true), false);
}

Result<Value> Runtime::call(const Value& callee, Args args) {
  if (callee.is_undefined()) return undefined_error(callee);
  auto* opaque = callee.as<Opaque>();
  if (opaque == nullptr) return fail("{} is not callable", jinja::type_name(callee));
  TRY(step());
  return opaque->call(*this, std::move(args));
}

Result<Bound> bind(const Args& args, std::string_view name,
                   std::initializer_list<std::string_view> parameters, size_t required) {
  ENSURE(parameters.size() <= Bound::kMost, "{} has {} parameters", name, parameters.size());
  Bound values;
  if (args.positional.size() > parameters.size()) {
    return fail("{} takes at most {} arguments, got {}", name, parameters.size(), args.positional.size());
  }
  for (size_t i = 0; i < args.positional.size(); i++) values[i] = &args.positional[i];
  for (const auto& [key, value] : args.named) {
    size_t i = 0;
    while (i < parameters.size() && parameters.begin()[i] != key.bytes()) i++;
    if (i == parameters.size()) return fail("{} has no parameter '{}'", name, key.bytes());
    if (values[i] != nullptr) return fail("{} got two values for '{}'", name, key.bytes());
    values[i] = &value;
  }
  for (size_t i = 0; i < required; i++) {
    if (values[i] == nullptr) return fail("{} lacks the argument '{}'", name, parameters.begin()[i]);
  }
  return values;
}

const Builtin* find_in(std::initializer_list<std::pair<const Builtin*, size_t>> tables,
                       std::string_view name) {
  for (const auto& [table, size] : tables) {
    const Builtin* const end = table + size;
    const Builtin* const at =
        std::lower_bound(table, end, name, [](const Builtin& b, std::string_view n) { return b.name < n; });
    if (at != end && at->name == name) return at;
  }
  return nullptr;
}

// Objects.

Result<Value> Opaque::attribute(Runtime&, const Value& name) {
  return Value::undefined(Ref<Object>(name.raw()));
}
std::optional<Value> Opaque::item(Runtime&, const Value&) { return std::nullopt; }
Result<Ref<Iterator>> Opaque::iterate(Runtime&) { return fail("{} is not iterable", type_name()); }
Result<Value> Opaque::call(Runtime&, Args) { return fail("{} is not callable", type_name()); }
std::string Opaque::repr() const { return fmt::format("<{} object>", type_name()); }

Result<Value> BoundMethod::call(Runtime& rt, Args args) {
  args.positional.insert(args.positional.begin(), self_);
  return method_->run(rt, args);
}
std::string BoundMethod::repr() const {
  // Python prints where the object lies. This is no such place: a text must not tell where memory is.
  return fmt::format("<built-in method {} of {} object at 0x7f0000000000>", method_->name,
                     jinja::type_name(self_));
}
std::string GlobalFunction::repr() const { return fmt::format("<function {}>", function_->name); }

Result<Value> Namespace::attribute(Runtime&, const Value& name) {
  if (const Value* found = values_->find(std::string_view(name.bytes()))) return *found;
  return Value::undefined(Ref<Object>(name.raw()));
}

std::optional<Value> Range::item(Runtime&, const Value& key) {
  if (!key.is_integral()) return std::nullopt;
  const Int i = key.as_int() < 0 ? key.as_int() + count_ : key.as_int();
  if (i < 0 || i >= count_) return std::nullopt;
  return at(i);
}

Result<Ref<Iterator>> Range::iterate(Runtime& rt) {
  const auto next = [self = Ref<Range>(this), i = Int{0}](Runtime&, Value& out) mutable -> Result<bool> {
    if (i >= self->count()) return false;
    out = self->at(i++);
    return true;
  };
  return make<Generator>(&rt.heap(), "dict_keyiterator object", next);
}

Range::Range(Heap* heap, Int start, Int stop, Int step)
    : Opaque(heap), start_(start), stop_(stop), step_(step) {
  const Int span = step > 0 ? stop - start : start - stop, stride = step > 0 ? step : -step;
  count_ = span <= 0 ? 0 : (span + stride - 1) / stride;
}

std::string Range::repr() const {
  const std::string step = step_ == 1 ? "" : ", " + int_repr(step_);
  return fmt::format("range({}, {}{})", start_, stop_, step);
}

std::string_view DictView::type_name() const {
  return what_ == keys ? "dict_keys" : what_ == values ? "dict_values" : "dict_items";
}

Value DictView::at(Runtime& rt, size_t i) const {
  const auto& [key, value] = dict().entries()[i];
  return what_ == keys ? key : what_ == values ? value : rt.heap().tuple({key, value});
}

Result<Ref<Iterator>> DictView::iterate(Runtime& rt) {
  const auto next = [self = Ref<DictView>(this), i = size_t{0}](Runtime& r,
                                                                Value& out) mutable -> Result<bool> {
    if (i >= self->dict().size()) return false;
    out = self->at(r, i++);
    return true;
  };
  return make<Generator>(&rt.heap(), "dict_keyiterator object", next);
}

Value generator(Runtime& rt, std::string_view kind, Generator::Next next) {
  return Value::object(make<Generator>(&rt.heap(), kind, std::move(next)));
}

}  // namespace brass::jinja
