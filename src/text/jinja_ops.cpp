#include "text/jinja_ops.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_format.h"
#include "text/jinja_long.h"
#include "text/jinja_repr.h"

namespace brass::jinja {

std::unexpected<Error> undefined_error(const Value& value) {
  const std::string_view name = value.undefined_name();
  return name.empty() ? fail("a value is undefined") : fail("'{}' is undefined", name);
}

std::unexpected<Error> operand_error(std::string_view op, const Value& a, const Value& b) {
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  return fail("'{}' does not work between {} and {}", op, type_name(a), type_name(b));
}

Result<Int> to_index(const Value& value, std::string_view what) {
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_integral()) return fail("{} must be an integer, not {}", what, type_name(value));
  return value.as_int();
}

bool truthy(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value.as_int() != 0;
    case Kind::real:
      return value.as_real() != 0;
    case Kind::string:
      return !value.bytes().empty();
    case Kind::list:
    case Kind::tuple:
      return value.items().size() > 0;
    case Kind::dict:
      return value.mapping().size() > 0;
    case Kind::object:
      return value.as<Opaque>()->truthy();
  }
  return false;
}

std::optional<size_t> length(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      return value.str().length();
    case Kind::list:
    case Kind::tuple:
      return value.items().size();
    case Kind::dict:
      return value.mapping().size();
    case Kind::object:
      return value.as<Opaque>()->length();
    default:
      return std::nullopt;
  }
}

bool iterable(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::string:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
      return true;
    case Kind::object:
      return value.as<Opaque>()->iterable();
    default:
      return false;
  }
}

bool callable(const Value& value) {
  if (value.is_undefined()) return true;  // it has a __call__, which raises
  return value.is(Kind::object) && value.as<Opaque>()->callable();
}

// Equality and order.

static Result<bool> equal_items(Runtime& rt, const List& a, const List& b) {
  TRY(rt.check_stack());
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    TRY(rt.step());
    if (!TRY(equal(rt, a[i], b[i]))) return false;
  }
  return true;
}

static Result<bool> equal_entries(Runtime& rt, const Dict& a, const Dict& b) {
  TRY(rt.check_stack());
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.entries()) {
    TRY(rt.step());
    const Value* other = b.find(key);
    if (other == nullptr) return false;
    if (!TRY(equal(rt, value, *other))) return false;
  }
  return true;
}

Result<bool> equal(Runtime& rt, const Value& a, const Value& b) {
  if (const auto order = compare_any_numbers(a, b)) return *order == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined:
    case Kind::none:
      return true;
    case Kind::string:
      return a.bytes() == b.bytes();
    case Kind::list:
    case Kind::tuple:
      return equal_items(rt, a.items(), b.items());
    case Kind::dict:
      return equal_entries(rt, a.mapping(), b.mapping());
    default:
      break;
  }
  const auto *x = a.as<Range>(), *y = b.as<Range>();
  if (x != nullptr && y != nullptr) {
    return x->count() == y->count() &&
           (x->count() == 0 || (x->start() == y->start() && (x->count() == 1 || x->step() == y->step())));
  }
  return a.raw() == b.raw();
}

Result<bool> less(Runtime& rt, const Value& a, const Value& b) {
  if (const auto order = compare_any_numbers(a, b)) return *order == -1;
  if (a.is_string() && b.is_string()) return a.bytes() < b.bytes();
  if (a.kind() != b.kind() || !a.is_sequence()) return operand_error("<", a, b);
  TRY(rt.check_stack());
  const List &x = a.items(), &y = b.items();
  for (size_t i = 0; i < std::min(x.size(), y.size()); i++) {
    TRY(rt.step());
    if (!TRY(equal(rt, x[i], y[i]))) return less(rt, x[i], y[i]);
  }
  return x.size() < y.size();
}

Result<bool> compare(Runtime& rt, CompareOp op, const Value& a, const Value& b) {
  // NaN compares false with everything, so <= is not "not >".
  const auto unordered = [&] { return compare_any_numbers(a, b) == 2; };
  switch (op) {
    case CompareOp::eq:
      return equal(rt, a, b);
    case CompareOp::ne:
      return !TRY(equal(rt, a, b));
    case CompareOp::lt:
      return less(rt, a, b);
    case CompareOp::gt:
      return less(rt, b, a);
    case CompareOp::le:
      return !TRY(less(rt, b, a)) && !unordered();
    case CompareOp::ge:
      return !TRY(less(rt, a, b)) && !unordered();
    case CompareOp::in:
      return contains(rt, b, a);
    case CompareOp::not_in:
      return !TRY(contains(rt, b, a));
  }
  return false;
}

Result<bool> contains(Runtime& rt, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::string:
      if (item.is_undefined()) return undefined_error(item);
      if (!item.is_string()) return fail("'in' on a string needs a string, not {}", type_name(item));
      return container.bytes().find(item.bytes()) != std::string::npos;
    case Kind::dict:
      if (!hashable(item)) return fail("a {} cannot be a dict key", type_name(item));
      return container.mapping().find(item) != nullptr;
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      return fail("'in' does not work on {}", type_name(container));
    default:
      break;
  }
  const Ref<Iterator> it = TRY(iterate(rt, container));
  for (Value next; TRY(it->next(rt, next));) {
    if (TRY(equal(rt, next, item))) return true;
  }
  return false;
}

// Arithmetic.

static Result<Value> integer_arithmetic(BinaryOp op, Int a, Int b) {
  Int out = 0;
  bool overflow = false;
  switch (op) {
    case BinaryOp::add:
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case BinaryOp::sub:
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case BinaryOp::mul:
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    case BinaryOp::div:
      if (b == 0) return fail("division by zero");
      return Value::real(static_cast<double>(static_cast<long double>(a) / static_cast<long double>(b)));
    case BinaryOp::floordiv:
    case BinaryOp::mod: {
      if (b == 0) return fail("division by zero");
      if (b == -1) return op == BinaryOp::mod ? Value::integer(0) : negate(Value::integer(a));
      const bool adjust = a % b != 0 && (a < 0) != (b < 0);
      out = op == BinaryOp::mod ? a % b + (adjust ? b : 0) : a / b - (adjust ? 1 : 0);
      break;
    }
    case BinaryOp::pow: {
      if (b < 0) {
        if (a == 0) return fail("zero cannot be raised to a negative power");
        return Value::real(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }
      if (a == 0 || a == 1 || a == -1) return Value::integer(b == 0 ? 1 : a == -1 && b % 2 == 0 ? 1 : a);
      out = 1;
      for (Int i = 0; i < b && !overflow; i++) overflow = __builtin_mul_overflow(out, a, &out);
      break;
    }
  }
  if (overflow) return fail("integer result is too large");
  return Value::integer(out);
}

static Result<Value> real_arithmetic(BinaryOp op, double a, double b) {
  const auto remainder = [&] {
    double r = std::fmod(a, b);
    if (r != 0 && (b < 0) != (r < 0)) r += b;
    return r == 0 ? std::copysign(0.0, b) : r;
  };
  switch (op) {
    case BinaryOp::add:
      return Value::real(a + b);
    case BinaryOp::sub:
      return Value::real(a - b);
    case BinaryOp::mul:
      return Value::real(a * b);
    case BinaryOp::pow: {
      if (a == 0 && b < 0) return fail("zero cannot be raised to a negative power");
      if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
        return fail("a negative number to a fractional power is not real");
      }
      const double out = std::pow(a, b);
      if (std::isinf(out) && std::isfinite(a) && std::isfinite(b)) return fail("float result is too large");
      return Value::real(out);
    }
    default:
      break;
  }
  if (b == 0) return fail("division by zero");
  if (op == BinaryOp::div) return Value::real(a / b);
  if (op == BinaryOp::mod) return Value::real(remainder());
  const double quotient = (a - remainder()) / b;
  if (quotient == 0) return Value::real(std::copysign(0.0, a / b));
  const double whole = std::floor(quotient);
  return Value::real(quotient - whole > 0.5 ? whole + 1 : whole);
}

static Result<Value> repeat(Runtime& rt, const Value& value, Int count) {
  const size_t size = value.is_string() ? value.bytes().size() : value.items().size();
  if (count <= 0 || size == 0) count = 0;
  const size_t unit = value.is_string() ? size : size * sizeof(Value);
  if (unit > 0 && count > static_cast<Int>(rt.options().max_memory / unit))
    return fail("repeated value is too large");
  const auto times = static_cast<size_t>(count);
  TRY(rt.room(unit * times));
  TRY(rt.step(value.is_string() ? times / 16 : size * times));
  if (value.is_string()) {
    Text out;
    out.reserve(unit * times);
    for (size_t i = 0; i < times; i++) out.append(value.str().text());
    return rt.heap().string(std::move(out), value.str().markup());
  }
  std::vector<Value> items;
  items.reserve(size * times);
  for (size_t i = 0; i < times; i++) {
    for (const Value& item : value.items().get()) items.push_back(item);
  }
  return value.is(Kind::list) ? rt.heap().list(std::move(items)) : rt.heap().tuple(std::move(items));
}

static Result<Value> add_sequences(Runtime& rt, const Value& a, const Value& b) {
  if (a.is_string()) {
    const bool markup = a.str().markup() || b.str().markup();
    Text out;
    out.reserve(a.bytes().size() + b.bytes().size());
    out.append(markup && !a.str().markup() ? escape_html(a.str().text()) : a.str().text());
    out.append(markup && !b.str().markup() ? escape_html(b.str().text()) : b.str().text());
    TRY(rt.step(out.size() / 64));
    return rt.heap().string(std::move(out), markup);
  }
  const auto &x = a.items().get(), &y = b.items().get();
  std::vector<Value> items;
  items.reserve(x.size() + y.size());
  items.insert(items.end(), x.begin(), x.end());
  items.insert(items.end(), y.begin(), y.end());
  TRY(rt.step(items.size()));
  return a.is(Kind::list) ? rt.heap().list(std::move(items)) : rt.heap().tuple(std::move(items));
}

static std::string_view symbol(BinaryOp op) {
  static constexpr std::string_view kSymbols[] = {"+", "-", "*", "/", "//", "%", "**"};
  return kSymbols[static_cast<size_t>(op)];
}

Result<Value> arithmetic(Runtime& rt, BinaryOp op, const Value& a, const Value& b) {
  if (a.is_integral() && b.is_integral()) return integer_arithmetic(op, a.as_int(), b.as_int());
  if (a.is_number() && b.is_number()) return real_arithmetic(op, a.to_double(), b.to_double());
  const bool a_repeats = a.is_string() || a.is_sequence(), b_repeats = b.is_string() || b.is_sequence();
  if (op == BinaryOp::add && a.kind() == b.kind() && a_repeats) return add_sequences(rt, a, b);
  if (op == BinaryOp::mul && a_repeats && b.is_integral()) return repeat(rt, a, b.as_int());
  if (op == BinaryOp::mul && b_repeats && a.is_integral()) return repeat(rt, b, a.as_int());
  if (op == BinaryOp::mod && a.is_string()) return format_percent(rt, a, b);
  if (a.as<LongInteger>() != nullptr || b.as<LongInteger>() != nullptr)
    return fail("integers of more than 128 bits are not computed with");
  return operand_error(symbol(op), a, b);
}

Result<Value> negate(const Value& value) {
  if (value.is(Kind::real)) return Value::real(-value.as_real());
  if (!value.is_integral()) {
    if (value.as<LongInteger>() != nullptr)
      return fail("integers of more than 128 bits are not computed with");
    return value.is_undefined() ? undefined_error(value) : fail("'-' does not work on {}", type_name(value));
  }
  Int out = 0;
  if (__builtin_sub_overflow(Int{0}, value.as_int(), &out)) return fail("integer result is too large");
  return Value::integer(out);
}

Result<Value> concat(Runtime& rt, const std::vector<Value>& values, bool escape) {
  const auto safe = [](const Value& value) { return value.is_string() && value.str().markup(); };
  const bool html = escape && std::any_of(values.begin(), values.end(), safe);
  Text out;
  for (const Value& value : values) {
    if (html) {
      out.append(TRY(to_html(rt, value)));
    } else {
      TRY(append_str(rt, out, value));
    }
  }
  TRY(rt.step(out.size() / 64));
  return rt.heap().string(std::move(out), html);
}

Result<> sort_by(Runtime& rt, std::vector<Value>& items, std::vector<Value> keys, bool reverse) {
  std::vector<size_t> order(items.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  // A comparison can fail; std::stable_sort cannot, so the first error is kept and the rest compare equal.
  Result<> failed;
  const auto before = [&](size_t a, size_t b) {
    if (!failed) return false;
    Result<> charged = rt.step();
    Result<bool> is = charged ? less(rt, keys[reverse ? b : a], keys[reverse ? a : b])
                              : std::unexpected(std::move(charged).error());
    if (is) return *is;
    failed = std::unexpected(std::move(is).error());
    return false;
  };
  std::stable_sort(order.begin(), order.end(), before);
  if (!failed) return failed;
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (const size_t i : order) sorted.push_back(std::move(items[i]));
  items = std::move(sorted);
  return {};
}

}  // namespace brass::jinja
