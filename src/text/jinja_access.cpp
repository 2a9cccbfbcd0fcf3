// Attributes, items, slices and iteration (jinja_ops.h).
#include <algorithm>
#include <optional>

#include "text/jinja_ops.h"
#include "text/jinja_repr.h"
#include "text/jinja_unicode.h"

namespace brass::jinja {

// Attributes and items.

// Methods that change their object are only there to be called: the sandbox that templates are written for
// calls them undefined (and forbids the call, which this engine does not).
static bool changes_object(const Value& object, std::string_view name) {
  static constexpr std::string_view kNames[] = {"append",     "clear",   "extend", "insert",
                                                "pop",        "popitem", "remove", "reverse",
                                                "setdefault", "sort",    "update"};
  return (object.is(Kind::list) || object.is(Kind::dict)) &&
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// A method that is not called at once; undefined if there is none.
static std::optional<Value> method_of(Runtime& rt, const Value& object, const Value& name) {
  const Builtin* method = find_method(object, name.bytes());
  if (method == nullptr) return std::nullopt;
  if (changes_object(object, name.bytes())) return Value::undefined(Ref<Object>(name.raw()));
  return Value::object(make<BoundMethod>(&rt.heap(), object, method));
}

// What Python's numbers hold: a fraction of whole numbers, a complex number.
static std::optional<Value> part_of_number(const Value& number, std::string_view name) {
  if (!number.is_number()) return std::nullopt;
  const bool whole = number.is_integral();
  if (name == "real" || (whole && name == "numerator"))
    return whole ? Value::integer(number.as_int()) : number;
  if (name == "imag") return whole ? Value::integer(0) : Value::real(0);
  if (whole && name == "denominator") return Value::integer(1);
  return std::nullopt;
}

Result<Value> get_attribute(Runtime& rt, const Value& object, const Value& name) {
  if (object.is_undefined()) {
    // What every object has in Python is there, but the sandbox gives out nothing of it.
    if (name.bytes() == "__class__" || name.bytes() == "__init__")
      return Value::undefined(Ref<Object>(name.raw()));
    return undefined_error(object);
  }
  if (auto* opaque = object.as<Opaque>()) return opaque->attribute(rt, name);
  if (object.is(Kind::tuple) && object.items().group()) {
    if (name.bytes() == "grouper") return object.items()[0];
    if (name.bytes() == "list") return object.items()[1];
  }
  if (auto method = method_of(rt, object, name)) return std::move(*method);
  if (auto part = part_of_number(object, name.bytes())) return std::move(*part);
  if (object.is(Kind::dict)) {
    if (const Value* found = object.mapping().find(std::string_view(name.bytes()))) return *found;
  }
  return Value::undefined(Ref<Object>(name.raw()));
}

// Element `index`, counted from the end if negative, as an offset; nothing if there is none.
static std::optional<size_t> offset_of(Int index, size_t size) {
  if (index < 0) index += static_cast<Int>(size);
  if (index < 0 || index >= static_cast<Int>(size)) return std::nullopt;
  return static_cast<size_t>(index);
}

static Value character(Runtime& rt, const Str& string, size_t index) {
  const size_t from = string.offset(index);
  size_t length = 1;
  decode_at(string.bytes(), from, length);
  return rt.heap().string(string.text().slice(from, from + length), string.markup());
}

Result<Value> get_item(Runtime& rt, const Value& object, const Value& key) {
  if (object.is_undefined()) return undefined_error(object);
  if (object.is(Kind::dict) && hashable(key)) {
    if (const Value* found = object.mapping().find(key)) return *found;
  } else if (object.is_sequence() && key.is_integral()) {
    if (const auto i = offset_of(key.as_int(), object.items().size())) return object.items()[*i];
  } else if (object.is_string() && key.is_integral()) {
    if (const auto i = offset_of(key.as_int(), object.str().length())) return character(rt, object.str(), *i);
  } else if (auto* opaque = object.as<Opaque>()) {
    if (auto found = opaque->item(rt, key)) return std::move(*found);
    if (key.is_string()) return opaque->attribute(rt, key);
  }
  if (key.is_string()) {
    if (object.is(Kind::tuple) && object.items().group()) return get_attribute(rt, object, key);
    if (auto part = part_of_number(object, key.bytes())) return std::move(*part);
    auto method = method_of(rt, object, key);
    return method ? std::move(*method) : Value::undefined(Ref<Object>(key.raw()));
  }
  Text name;
  TRY(append_repr(rt, name, key));
  return rt.undefined(name.view());
}

// Start, stop and step of a slice over `size` elements, as Python clamps them.
struct Bounds {
  Int start, stop, step;
  size_t count() const {
    const Int span = step > 0 ? stop - start : start - stop;
    const Int stride = step > 0 ? step : -step;
    return span <= 0 ? 0 : static_cast<size_t>((span + stride - 1) / stride);
  }
};

static Result<Bounds> slice_bounds(const Value& start, const Value& stop, const Value& step, size_t size) {
  const auto part = [](const Value& value, Int absent) -> Result<Int> {
    if (value.is_none()) return absent;
    Int i = TRY(to_index(value, "a slice index"));
    return std::clamp<Int>(i, -(Int{1} << 62), Int{1} << 62);
  };
  const Int n = static_cast<Int>(size);
  Bounds out{0, 0, TRY(part(step, 1))};
  if (out.step == 0) return fail("slice step is zero");
  const bool forward = out.step > 0;
  out.start = TRY(part(start, forward ? 0 : n - 1));
  out.stop = TRY(part(stop, forward ? n : -n - 1));
  for (Int* edge : {&out.start, &out.stop}) {
    if (*edge < 0) *edge += n;
    *edge = std::clamp<Int>(*edge, forward ? 0 : -1, forward ? n : n - 1);
  }
  return out;
}

static Value slice_string(Runtime& rt, const Str& string, const Bounds& b) {
  Text out;
  if (b.step == 1) {
    if (b.count() > 0) {
      const size_t from = string.offset(static_cast<size_t>(b.start));
      const size_t to = string.ascii()
                            ? static_cast<size_t>(b.stop)
                            : from + code_point_offset(std::string_view(string.bytes()).substr(from),
                                                       static_cast<size_t>(b.stop - b.start));
      out = string.text().slice(from, to);
    }
    return rt.heap().string(std::move(out), string.markup());
  }
  std::vector<size_t> offsets;  // of every code point
  for (size_t at = 0, length = 0; at < string.bytes().size(); at += length) {
    offsets.push_back(at);
    decode_at(string.bytes(), at, length);
  }
  offsets.push_back(string.bytes().size());
  Int at = b.start;
  for (size_t i = 0; i < b.count(); i++, at += b.step) {
    const auto k = static_cast<size_t>(at);
    out.append(string.text(), offsets[k], offsets[k + 1]);
  }
  return rt.heap().string(std::move(out), string.markup());
}

Result<Value> get_slice(Runtime& rt, const Value& object, const Value& start, const Value& stop,
                        const Value& step) {
  const auto* range = object.as<Range>();
  if (object.is_undefined()) return undefined_error(object);
  if (!object.is_string() && !object.is_sequence() && range == nullptr) {
    return fail("{} cannot be sliced", type_name(object));
  }
  const Bounds b = TRY(slice_bounds(start, stop, step, *length(object)));
  TRY(rt.step(object.is_string() ? b.count() / 64 : b.count()));
  if (object.is_string()) return slice_string(rt, object.str(), b);
  if (range != nullptr) {
    return Value::object(make<Range>(&rt.heap(), range->start() + b.start * range->step(),
                                     range->start() + b.stop * range->step(), range->step() * b.step));
  }
  std::vector<Value> items;
  items.reserve(b.count());
  Int at = b.start;
  for (size_t i = 0; i < b.count(); i++, at += b.step)
    items.push_back(object.items()[static_cast<size_t>(at)]);
  return object.is(Kind::list) ? rt.heap().list(std::move(items)) : rt.heap().tuple(std::move(items));
}

// Iteration.

namespace {

// Walks a list, tuple, dict (its keys) or string (its characters).
class ElementIterator final : public Iterator {
 public:
  ElementIterator(Heap* heap, Value source) : Iterator(heap), source_(std::move(source)) {}
  void clear() override { source_ = Value(); }
  std::string_view type_name() const override { return "iterator"; }
  Result<bool> next(Runtime& rt, Value& out) override {
    TRY(rt.step());
    switch (source_.kind()) {
      case Kind::string:
        return next_character(rt, out);
      case Kind::dict:
        if (at_ >= source_.mapping().size()) return false;
        out = source_.mapping().entries()[at_++].first;
        return true;
      case Kind::list:
      case Kind::tuple:
        if (at_ >= source_.items().size()) return false;
        out = source_.items()[at_++];
        return true;
      default:
        return false;
    }
  }

 private:
  Result<bool> next_character(Runtime& rt, Value& out) {
    const Str& string = source_.str();
    if (at_ >= string.bytes().size()) return false;
    size_t length = 0;
    decode_at(string.bytes(), at_, length);
    out = rt.heap().string(string.text().slice(at_, at_ + length));  // never Markup
    at_ += length;
    return true;
  }

  Value source_;
  size_t at_ = 0;
};

}  // namespace

Result<Ref<Iterator>> iterate(Runtime& rt, const Value& value) {
  if (auto* opaque = value.as<Opaque>()) return opaque->iterate(rt);
  if (!iterable(value)) return fail("{} is not iterable", type_name(value));
  return make<ElementIterator>(&rt.heap(), value);
}

Result<std::vector<Value>> to_vector(Runtime& rt, const Value& value) {
  if (value.is_sequence()) {
    TRY(rt.step(value.items().size()));
    return value.items().get();
  }
  std::vector<Value> out;
  const Ref<Iterator> it = TRY(iterate(rt, value));
  for (Value next; TRY(it->next(rt, next));) {
    out.push_back(std::move(next));
    if (out.size() % 4096 == 0) TRY(rt.room(out.size() * sizeof(Value)));
  }
  return out;
}

}  // namespace brass::jinja
