#include "text/jinja_numbers.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "text/jinja_strings.h"

namespace brass::jinja {
namespace {

// Without white space around it, digits of any script as ASCII.
std::string plain(std::string_view text) {
  const Text stripped = strip(Text(std::string(text), true), Side::both, std::nullopt);
  std::string out;
  each_character(stripped.view(), [&](char32_t c, size_t, size_t) {
    const int digit = decimal_value(c);
    if (digit >= 0) {
      out += static_cast<char>('0' + digit);
    } else {
      append_utf8(out, c);
    }
  });
  return out;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 32);
  return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}

}  // namespace

Result<std::optional<Int>> parse_int(std::string_view text, int base) {
  const std::string digits = plain(text);
  std::string_view rest = digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  bool underscore = false;  // whether one may come next
  if (rest.size() > 1 && rest[0] == '0') {
    const char x = static_cast<char>(rest[1] | 32);
    const int by_prefix = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 0;
    if (by_prefix != 0 && (base == 0 || base == by_prefix)) {
      base = by_prefix;
      rest.remove_prefix(2);
      underscore = true;
    }
  }
  const bool plain_zero_only = base == 0 && rest.size() > 1 && rest[0] == '0';
  if (base == 0) base = 10;
  if (rest.empty()) return std::nullopt;
  Int value = 0;
  for (size_t i = 0; i < rest.size(); i++) {
    if (rest[i] == '_') {
      if (!underscore || i + 1 == rest.size()) return std::nullopt;
      underscore = false;
      continue;
    }
    const int digit = digit_of(rest[i]);
    if (digit >= base || (plain_zero_only && digit != 0)) return std::nullopt;
    if (__builtin_mul_overflow(value, Int{base}, &value) ||
        __builtin_add_overflow(value, Int{digit}, &value)) {
      return fail("integer '{}' is too large", text.substr(0, 64));
    }
    underscore = true;
  }
  return negative ? -value : value;
}

std::optional<double> parse_float(std::string_view text) {
  std::string digits = plain(text);
  for (size_t i = 0; i < digits.size(); i++) {  // single underscores between digits
    if (digits[i] != '_') continue;
    if (i == 0 || i + 1 == digits.size() || digit_of(digits[i - 1]) > 9 || digit_of(digits[i + 1]) > 9)
      return std::nullopt;
    digits.erase(i, 1);
  }
  std::string_view rest = digits;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest.empty() || rest[0] == '-' || rest[0] == '+') return std::nullopt;
  double value = 0;
  const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (result.ptr != rest.data() + rest.size() || result.ec == std::errc::invalid_argument)
    return std::nullopt;
  if (rest.find('(') != std::string_view::npos) return std::nullopt;  // nan(...) is C's, not Python's
  if (result.ec == std::errc::result_out_of_range) {
    const size_t e = rest.find_first_of("eE");
    value = e != std::string_view::npos && rest.substr(e).find('-') != std::string_view::npos
                ? 0.0
                : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

double round_to(double value, int digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, -digits);
    return std::nearbyint(value / unit) * unit;
  }
  const std::string text = fmt::format("{:.{}f}", value, digits);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

}  // namespace brass::jinja
