#include "text/jinja_loop.h"

#include "text/jinja_ops.h"
#include "text/jinja_repr.h"

namespace brass::jinja {

static Result<Value> loop_cycle(Runtime&, Args& args) { return args.positional[0].as<Loop>()->cycle(args); }
static Result<Value> loop_changed(Runtime& rt, Args& args) {
  const Value self = args.positional[0];
  return self.as<Loop>()->changed(rt, args);
}
static constexpr Builtin kCycle = {"cycle", loop_cycle};
static constexpr Builtin kChanged = {"changed", loop_changed};

void Loop::clear() {
  items_ = before_ = current_ = Value();
  iterator_ = Ref<Iterator>();
  recurse_ = nullptr;
  after_.reset();
  seen_.reset();
}

Result<bool> Loop::peek(Runtime& rt) {
  if (after_) return true;
  if (at_end_) return false;
  Value next;
  if (!TRY(iterator_->next(rt, next))) {
    at_end_ = true;
    return false;
  }
  after_ = std::move(next);
  return true;
}

Result<bool> Loop::advance(Runtime& rt, Value& out) {
  if (!TRY(peek(rt))) return false;
  index0_++;
  before_ = std::move(current_);
  current_ = std::move(*after_);
  after_.reset();
  out = current_;
  return true;
}

Result<Int> Loop::count(Runtime& rt) {
  if (!jinja_length_) jinja_length_ = jinja::length(items_);
  if (!jinja_length_) {  // a generator: what is left is read now
    std::vector<Value> rest;
    for (Value next; TRY(iterator_->next(rt, next));) rest.push_back(std::move(next));
    jinja_length_ = rest.size() + static_cast<size_t>(index0_ + 1) + (after_ ? 1 : 0);
    iterator_ = TRY(jinja::iterate(rt, rt.heap().list(std::move(rest))));
  }
  return static_cast<Int>(*jinja_length_);
}

Result<Value> Loop::attribute(Runtime& rt, const Value& name) {
  const std::string& what = name.bytes();
  const auto method = [&](const Builtin& builtin) {
    return Value::object(make<BoundMethod>(&rt.heap(), Value::object(Ref<Object>(this)), &builtin));
  };
  if (what == "index") return Value::integer(index0_ + 1);
  if (what == "index0") return Value::integer(index0_);
  if (what == "first") return Value::boolean(index0_ == 0);
  if (what == "last") return Value::boolean(!TRY(peek(rt)));
  if (what == "length") return Value::integer(TRY(count(rt)));
  if (what == "revindex") return Value::integer(TRY(count(rt)) - index0_);
  if (what == "revindex0") return Value::integer(TRY(count(rt)) - index0_ - 1);
  if (what == "depth") return Value::integer(depth_ + 1);
  if (what == "depth0") return Value::integer(depth_);
  if (what == "previtem") return index0_ == 0 ? rt.undefined("there is no previous item") : before_;
  if (what == "nextitem") return TRY(peek(rt)) ? *after_ : rt.undefined("there is no next item");
  if (what == "cycle") return method(kCycle);
  if (what == "changed") return method(kChanged);
  return Value::undefined(Ref<Object>(name.raw()));
}

Result<Value> Loop::call(Runtime& rt, Args args) {
  if (!recurse_) return fail("the loop must be marked 'recursive' to be called");
  const Bound bound = TRY(bind(args, "loop", {"iterable"}, 1));
  TRY(rt.step());
  return recurse_(*bound[0], depth_ + 1);
}

// The items of a generator are not counted for it.
std::string Loop::repr() const {
  const std::optional<size_t> length = jinja_length_ ? jinja_length_ : jinja::length(items_);
  return fmt::format("<LoopContext {}{}>", index0_ + 1, length ? fmt::format("/{}", *length) : "");
}

Result<Value> Loop::cycle(const Args& args) const {
  const size_t count = args.positional.size() - 1;
  if (count == 0) return fail("loop.cycle needs items");
  return args.positional[1 + static_cast<size_t>(index0_ % static_cast<Int>(count))];
}

Result<Value> Loop::changed(Runtime& rt, Args& args) {
  std::vector<Value> values(args.positional.begin() + 1, args.positional.end());
  bool same = seen_ && seen_->size() == values.size();
  for (size_t i = 0; same && i < values.size(); i++) same = TRY(equal(rt, (*seen_)[i], values[i]));
  seen_ = std::move(values);
  return Value::boolean(!same);
}

}  // namespace brass::jinja
