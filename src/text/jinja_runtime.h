// What a render has at hand: budgets, calls, the objects that only exist while it runs.
//
// Owns: Runtime (budget counters, heap, calling), Args and their binding to parameters, Builtin, the
// behaviour of objects (Opaque), iteration (Iterator). Must not know: syntax trees (the interpreter does),
// individual filters. Invariants: anything whose work or size grows with data charges steps, and asks the
// heap before it makes much out of little; anything that recurses over values holds a Depth.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>

#include "text/jinja.h"

namespace brass::jinja {

class Runtime;
class Iterator;

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<Value, Value>> named;  // name (string), value
};

// A filter, test, method or global function. The input of a filter or test, or the object of a method, is the
// first positional argument.
struct Builtin {
  std::string_view name;
  Result<Value> (*run)(Runtime&, Args&);
};
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
const Builtin* find_method(const Value& object, std::string_view name);  // of str, list, tuple, dict
// Tables of builtins are in the order of their names: static_assert it beside each.
template <size_t N>
constexpr bool in_order(const Builtin (&table)[N]) {
  for (size_t i = 1; i < N; i++) {
    if (table[i].name <= table[i - 1].name) return false;
  }
  return true;
}
const Builtin* find_in(std::initializer_list<std::pair<const Builtin*, size_t>> tables,
                       std::string_view name);

// Says of most names, by first letter and length, that a table does not hold them: attributes of messages are
// looked up as methods first.
class NameFilter {
 public:
  template <size_t N>
  explicit constexpr NameFilter(const Builtin (&table)[N]) {
    for (const Builtin& builtin : table) lengths_[letter(builtin.name)] |= length_bit(builtin.name);
  }
  bool may_hold(std::string_view name) const {
    return !name.empty() && (lengths_[letter(name)] & length_bit(name)) != 0;
  }

 private:
  static constexpr size_t letter(std::string_view name) { return static_cast<unsigned char>(name[0]) & 31; }
  static constexpr uint32_t length_bit(std::string_view name) { return uint32_t{1} << (name.size() & 31); }
  uint32_t lengths_[32] = {};
};

// Arguments in the order of parameters; what was not given is nullptr.
class Bound {
 public:
  static constexpr size_t kMost = 8;  // parameters of any builtin
  const Value*& operator[](size_t i) { return values_[i]; }
  const Value* operator[](size_t i) const { return values_[i]; }
  bool has(size_t i) const { return values_[i] != nullptr; }

 private:
  std::array<const Value*, kMost> values_ = {};
};
// Binds as Python does; `name` is for messages. The result points into `args`.
Result<Bound> bind(const Args& args, std::string_view name,
                   std::initializer_list<std::string_view> parameters, size_t required);

// An object with behaviour. Defaults: true, no length, no attributes, neither iterable nor callable.
class Opaque : public Container {
 public:
  using Container::Container;
  void clear() override {}
  virtual bool truthy() const { return true; }
  virtual std::optional<size_t> length() const { return std::nullopt; }
  virtual Result<Value> attribute(Runtime& rt, const Value& name);
  virtual std::optional<Value> item(Runtime& rt,
                                    const Value& key);  // nothing: not subscriptable, or no such key
  virtual Result<Ref<Iterator>> iterate(Runtime& rt);
  virtual bool iterable() const { return false; }
  virtual bool sequence() const { return false; }
  virtual bool callable() const { return false; }
  virtual Result<Value> call(Runtime& rt, Args args);
  virtual std::string repr() const;
  virtual bool trusted() const { return true; }  // whether its repr is the template's own
};

class Iterator : public Opaque {
 public:
  using Opaque::Opaque;
  std::string_view type_name() const override { return "generator"; }
  bool iterable() const override { return true; }
  Result<Ref<Iterator>> iterate(Runtime&) override { return Ref<Iterator>(this); }
  virtual Result<bool> next(Runtime& rt, Value& out) = 0;  // false at the end
};

class Runtime {
 public:
  Runtime(Heap& heap, const RenderOptions& options);
  virtual ~Runtime() = default;

  Heap& heap() { return heap_; }
  const RenderOptions& options() const { return options_; }
  Result<> step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ > options_.max_steps || heap_.exhausted()) [[unlikely]]
      return over_budget();
    return {};
  }
  Result<> room(size_t bytes);  // whether `bytes` more fit the memory budget

  Result<Value> call(const Value& callee, Args args);
  Value undefined(std::string_view name) { return Value::undefined(undefined_name(name)); }
  Ref<Object> undefined_name(std::string_view name);

  // Guards recursion over values and calls by the stack that is really used.
  Result<> check_stack() const;

  // Whether HTML is escaped now, as filters and macros ask it.
  bool autoescape() const { return autoescape_; }
  void set_autoescape(bool on) { autoescape_ = on; }

  Value string(Text text) { return heap_.string(std::move(text)); }
  // What a block, macro or loop has written: safe HTML where that is escaped.
  Value written(Text text, bool escaped) { return heap_.string(std::move(text), escaped); }
  Value string(std::string_view bytes, bool trusted = true) { return heap_.string(bytes, trusted); }

 private:
  std::unexpected<Error> over_budget() const;
  Heap& heap_;
  const RenderOptions& options_;
  uint64_t steps_ = 0;
  bool autoescape_ = false;
  const char* stack_base_;
};

// A function of the language that is bound to its object or stands alone.
class BoundMethod final : public Opaque {
 public:
  BoundMethod(Heap* heap, Value self, const Builtin* method)
      : Opaque(heap), self_(std::move(self)), method_(method) {}
  void clear() override { self_ = Value(); }
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime& rt, Args args) override;
  std::string repr() const override;

 private:
  Value self_;
  const Builtin* method_;
};

class GlobalFunction final : public Opaque {
 public:
  GlobalFunction(Heap* heap, const Builtin* function) : Opaque(heap), function_(function) {}
  std::string_view type_name() const override { return "function"; }
  bool callable() const override { return true; }
  Result<Value> call(Runtime& rt, Args args) override { return function_->run(rt, args); }
  std::string repr() const override;

 private:
  const Builtin* function_;
};

class Namespace final : public Opaque {
 public:
  explicit Namespace(Heap* heap) : Opaque(heap), values_(make<Dict>(heap)) {}
  void clear() override { values_->clear(); }
  std::string_view type_name() const override { return "Namespace"; }
  Result<Value> attribute(Runtime& rt, const Value& name) override;
  void set(Value name, Value value) { values_->set(std::move(name), std::move(value)); }
  Dict& values() { return *values_; }

 private:
  Ref<Dict> values_;
};

class Range final : public Opaque {
 public:
  Range(Heap* heap, Int start, Int stop, Int step);
  std::string_view type_name() const override { return "range"; }
  bool truthy() const override { return count_ > 0; }
  std::optional<size_t> length() const override { return static_cast<size_t>(count_); }
  std::optional<Value> item(Runtime& rt, const Value& key) override;
  Result<Ref<Iterator>> iterate(Runtime& rt) override;
  bool iterable() const override { return true; }
  bool sequence() const override { return true; }
  std::string repr() const override;
  Int start() const { return start_; }
  Int step() const { return step_; }
  Int count() const { return count_; }
  Value at(Int i) const { return Value::integer(start_ + i * step_); }

 private:
  Int start_, stop_, step_, count_;
};

// What dict.keys(), values() and items() return: it follows the dict.
class DictView final : public Opaque {
 public:
  enum What { keys, values, items };
  DictView(Heap* heap, Value dict, What what) : Opaque(heap), dict_(std::move(dict)), what_(what) {}
  void clear() override { dict_ = Value(); }
  std::string_view type_name() const override;
  bool truthy() const override { return dict().size() > 0; }
  std::optional<size_t> length() const override { return dict().size(); }
  Result<Ref<Iterator>> iterate(Runtime& rt) override;
  bool iterable() const override { return true; }
  const Dict& dict() const { return dict_.mapping(); }
  What what() const { return what_; }
  Value at(Runtime& rt, size_t i) const;

 private:
  Value dict_;
  What what_;
};

// An iterator from a function that gives the next value or reports the end. `kind`: what Python prints of the original's,
// before an address (here always the same one).
class Generator final : public Iterator {
 public:
  using Next = std::function<Result<bool>(Runtime&, Value&)>;
  Generator(Heap* heap, std::string_view kind, Next next)
      : Iterator(heap), kind_(kind), next_(std::move(next)) {}
  std::string repr() const override { return fmt::format("<{} at 0x7f0000000000>", kind_); }
  void clear() override { next_ = nullptr; }
  Result<bool> next(Runtime& rt, Value& out) override {
    TRY(rt.step());
    return next_(rt, out);
  }

 private:
  std::string_view kind_;
  Next next_;
};
// Of a generator function of that name.
Value generator(Runtime& rt, std::string_view kind, Generator::Next next);

}  // namespace brass::jinja
