// Filters on numbers (jinja_filters.h).
#include <algorithm>
#include <cmath>

#include "text/jinja_filters.h"
#include "text/jinja_long.h"
#include "text/jinja_numbers.h"
#include "text/jinja_ops.h"

namespace brass::jinja {
namespace {

Result<Value> absolute(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "abs", {"x"}, 1));
  const Value& x = *bound[0];
  if (x.is_undefined()) return undefined_error(x);
  if (!x.is_number()) return fail("abs needs a number, not {}", type_name(x));
  if (x.is(Kind::real)) return Value::real(std::fabs(x.as_real()));
  return x.as_int() < 0 ? negate(x) : Value::integer(x.as_int());
}

Result<Value> integer_from(double value) {
  if (std::fabs(value) >= 0x1p126) return fail("the number is too large for an integer");
  return Value::integer(static_cast<Int>(value));
}

Result<Value> to_int(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "int", {"value", "default", "base"}, 1));
  const Value& value = *bound[0];
  const Value otherwise = bound.has(1) ? *bound[1] : Value::integer(0);
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_integral()) return Value::integer(value.as_int());
  if (is_whole(value)) return value;
  if (value.is(Kind::real)) {
    if (std::isnan(value.as_real())) return otherwise;
    return integer_from(value.as_real());
  }
  if (!value.is_string()) return otherwise;
  const Int base = bound.has(2) ? TRY(to_index(*bound[2], "the base")) : 10;
  if (base == 0 || (base >= 2 && base <= 36)) {
    if (const auto parsed = TRY(parse_int(value.bytes(), static_cast<int>(base))))
      return Value::integer(*parsed);
  }
  const auto real = parse_float(value.bytes());
  if (!real || !std::isfinite(*real)) return otherwise;
  return integer_from(*real);
}

Result<Value> to_float(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "float", {"value", "default"}, 1));
  const Value& value = *bound[0];
  if (value.is_undefined()) return undefined_error(value);
  if (value.is_number()) return Value::real(value.to_double());
  if (value.is_string()) {
    if (const auto real = parse_float(value.bytes())) return Value::real(*real);
  }
  return bound.has(1) ? *bound[1] : Value::real(0);
}

// round(int, n): an int, to a multiple of 10^-n with ties to even.
Result<Value> round_integer(Int value, Int precision) {
  if (precision >= 0) return Value::integer(value);
  if (precision < -38) return Value::integer(0);
  Int unit = 1;
  for (Int i = precision; i < 0; i++) unit *= 10;
  const Int down = value >= 0 ? value / unit : -((-value + unit - 1) / unit);
  const Int rest = value - down * unit;
  const bool up = rest * 2 > unit || (rest * 2 == unit && down % 2 != 0);
  return Value::integer((down + up) * unit);
}

Result<Value> round(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "round", {"value", "precision", "method"}, 1));
  const Value& value = *bound[0];
  const std::string method = bound.has(2) && bound[2]->is_string() ? bound[2]->bytes()
                             : bound.has(2)                        ? ""
                                                                   : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    return fail("the method must be common, ceil or floor");
  if (value.is_undefined()) return undefined_error(value);
  if (!value.is_number()) return fail("round needs a number, not {}", type_name(value));
  if (method == "common" && bound.has(1) && bound[1]->is_none()) {
    if (value.is_integral()) return Value::integer(value.as_int());
    if (!std::isfinite(value.as_real())) return fail("cannot round {} to an integer", value.as_real());
    return integer_from(std::nearbyint(value.as_real()));
  }
  const Int precision = bound.has(1) ? TRY(to_index(*bound[1], "the precision")) : 0;
  const int digits = static_cast<int>(std::clamp<Int>(precision, -400, 400));
  if (method == "common") {
    if (value.is_integral()) return round_integer(value.as_int(), precision);
    return Value::real(round_to(value.as_real(), digits));
  }
  const Value scale = TRY(arithmetic(rt, BinaryOp::pow, Value::integer(10), Value::integer(digits)));
  const Value scaled = TRY(arithmetic(rt, BinaryOp::mul, value, scale));
  Value whole = scaled;
  if (scaled.is(Kind::real)) {
    if (!std::isfinite(scaled.as_real())) return fail("cannot round {} to an integer", scaled.as_real());
    whole = TRY(integer_from(method == "ceil" ? std::ceil(scaled.as_real()) : std::floor(scaled.as_real())));
  }
  return arithmetic(rt, BinaryOp::div, whole, scale);
}

Result<Value> filesizeformat(Runtime& rt, Args& args) {
  const Bound bound = TRY(bind(args, "filesizeformat", {"value", "binary"}, 1));
  const Value& value = *bound[0];
  const auto parsed = value.is_string() ? parse_float(value.bytes()) : std::nullopt;
  if (!parsed && !value.is_number()) return fail("filesizeformat needs a number, not {}", type_name(value));
  const double bytes = parsed ? *parsed : value.to_double();
  const bool binary = bound.has(1) && truthy(*bound[1]);
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return rt.string("1 Byte");
  if (std::isnan(bytes)) return fail("filesizeformat needs a number, not nan");
  if (bytes < base) return rt.string(fmt::format("{} Bytes", static_cast<int64_t>(bytes)));
  static constexpr std::string_view kPrefixes = "kMGTPEZY";
  double unit = base;
  for (size_t i = 0;; i++) {
    unit *= base;
    if (bytes < unit || i + 1 == kPrefixes.size()) {
      const char prefix = binary && i == 0 ? 'K' : kPrefixes[i];
      return rt.string(fmt::format("{:.1f} {}{}", base * bytes / unit, prefix, binary ? "iB" : "B"));
    }
  }
}

constexpr Builtin kFilters[] = {
    {"abs", absolute}, {"filesizeformat", filesizeformat}, {"float", to_float}, {"int", to_int},
    {"round", round},
};
static_assert(in_order(kFilters));

}  // namespace

std::span<const Builtin> number_filters() { return kFilters; }

}  // namespace brass::jinja
