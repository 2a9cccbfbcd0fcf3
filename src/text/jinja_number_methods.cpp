// The methods of int and float (jinja_runtime.h, find_method).
#include <bit>
#include <cmath>

#include "text/jinja_ops.h"

namespace brass::jinja {

const Builtin* find_number_method(const Value& object, std::string_view name);

namespace {

using Wide = unsigned __int128;

Wide magnitude(const Value& value) {
  const Int i = value.as_int();
  return i < 0 ? -static_cast<Wide>(i) : static_cast<Wide>(i);
}

Result<Value> bit_length(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "int.bit_length", {"self"}, 1));
  const Wide n = magnitude(*bound[0]);
  const auto high = static_cast<uint64_t>(n >> 64), low = static_cast<uint64_t>(n);
  return Value::integer(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

Result<Value> bit_count(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "int.bit_count", {"self"}, 1));
  const Wide n = magnitude(*bound[0]);
  return Value::integer(std::popcount(static_cast<uint64_t>(n >> 64)) +
                        std::popcount(static_cast<uint64_t>(n)));
}

Result<Value> conjugate(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "conjugate", {"self"}, 1));
  return bound[0]->is_integral() ? Value::integer(bound[0]->as_int()) : *bound[0];
}

Result<Value> is_integer(Runtime&, Args& args) {
  const Bound bound = TRY(bind(args, "float.is_integer", {"self"}, 1));
  const double x = bound[0]->as_real();
  return Value::boolean(std::isfinite(x) && std::trunc(x) == x);
}

constexpr Builtin kIntMethods[] = {
    {"bit_count", bit_count}, {"bit_length", bit_length}, {"conjugate", conjugate}};
static_assert(in_order(kIntMethods));
constexpr Builtin kFloatMethods[] = {{"conjugate", conjugate}, {"is_integer", is_integer}};
static_assert(in_order(kFloatMethods));

}  // namespace

const Builtin* find_number_method(const Value& object, std::string_view name) {
  if (object.is_integral()) return find_in({{kIntMethods, std::size(kIntMethods)}}, name);
  return find_in({{kFloatMethods, std::size(kFloatMethods)}}, name);
}

}  // namespace brass::jinja
