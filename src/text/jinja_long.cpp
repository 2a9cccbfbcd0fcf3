#include "text/jinja_long.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace brass::jinja {

Value integer_from_text(const std::string& text) {
  const bool negative = text[0] == '-';
  Int value = 0;
  for (const char c : std::string_view(text).substr(negative ? 1 : 0)) {
    if (__builtin_mul_overflow(value, Int{10}, &value) || __builtin_add_overflow(value, Int{c - '0'}, &value))
      return Value::object(make<LongInteger>(text));
  }
  return Value::integer(negative ? -value : value);
}

bool is_whole(const Value& value) { return value.is(Kind::integer) || value.as<LongInteger>() != nullptr; }

namespace {

// Of two integers of more than 128 bits.
int compare_long(const LongInteger& a, const LongInteger& b) {
  if (a.negative() != b.negative()) return a.negative() ? -1 : 1;
  const std::string x = a.repr(), y = b.repr();
  const int larger = x.size() != y.size() ? (x.size() < y.size() ? -1 : 1) : x.compare(y);
  const int sign = larger < 0 ? -1 : larger > 0;
  return a.negative() ? -sign : sign;
}

double to_double(const LongInteger& value) {
  const std::string text = value.repr();
  double out = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc::result_out_of_range)
    return value.negative() ? -std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::infinity();
  return out;
}

// Of such an integer and a number that is none. Doubles of that size are whole, so their digits can be compared.
int compare_with(const LongInteger& a, const Value& b) {
  if (!b.is(Kind::real)) return a.negative() ? -1 : 1;
  if (std::isnan(b.as_real())) return 2;
  if (std::isinf(b.as_real()) || std::fabs(b.as_real()) < 0x1p126) {
    const double x = to_double(a);
    return std::isinf(b.as_real()) ? (b.as_real() > 0 ? -1 : 1) : (x < b.as_real() ? -1 : 1);
  }
  return compare_long(a, LongInteger(fmt::format("{:.0f}", b.as_real())));
}

}  // namespace

std::optional<int> compare_any_numbers(const Value& a, const Value& b) {
  const auto *x = a.as<LongInteger>(), *y = b.as<LongInteger>();
  if ((x == nullptr && !a.is_number()) || (y == nullptr && !b.is_number())) return std::nullopt;
  if (x != nullptr && y != nullptr) return compare_long(*x, *y);
  if (x != nullptr) return compare_with(*x, b);
  if (y == nullptr) return compare_numbers(a, b);
  const int turned = compare_with(*y, a);
  return turned == 2 ? 2 : -turned;
}

}  // namespace brass::jinja
