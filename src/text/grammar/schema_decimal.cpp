#include "text/grammar/schema_decimal.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/json_guard.h"

namespace brass::grammar::schema {
namespace {

constexpr int kMaxCount = 1'000'000'000;

// The exponent that the text gives, held far inside of what an int holds.
int64_t read_exponent(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  int64_t value = 0;
  for (const char c : text)
    if (c >= '0' && c <= '9') value = std::min<int64_t>(value * 10 + (c - '0'), 1'000'000'000);
  return negative ? -value : value;
}

}  // namespace

Result<Decimal> parse_decimal(std::string_view text) {
  Decimal value;
  int64_t exponent = 0;
  bool fraction = false;
  for (size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '-') {
      value.negative = true;
    } else if (c == '.') {
      fraction = true;
    } else if (c == 'e' || c == 'E') {
      exponent += read_exponent(text.substr(i + 1));
      break;
    } else {
      value.digits.push_back(c);
      exponent -= fraction;
    }
  }
  value.digits.erase(0, value.digits.find_first_not_of('0'));
  if (value.digits.empty()) return Decimal{};
  const size_t last = value.digits.find_last_not_of('0');
  exponent += static_cast<int64_t>(value.digits.size() - 1 - last);
  value.digits.resize(last + 1);
  if (exponent > kMaxExponent || exponent < -kMaxExponent)
    return fail("number '{}' has an exponent past {}", text.substr(0, 40), kMaxExponent);
  value.exponent = static_cast<int32_t>(exponent);
  return value;
}

bool is_number(const nlohmann::ordered_json& json) { return json.is_number() || json.is_binary(); }

Result<Decimal> to_decimal(const nlohmann::ordered_json& number) {
  if (!number.is_binary()) return parse_decimal(number.dump());
  return parse_decimal(kept_number(number));
}

Digits spell(const Decimal& value) {
  Digits out;
  const auto size = static_cast<int32_t>(value.digits.size());
  const int32_t point = size + value.exponent;  // how many digits stand before it
  if (point <= 0) {
    out.whole = "0";
    if (size > 0) out.fraction = std::string(static_cast<size_t>(-point), '0') + value.digits;
  } else if (point >= size) {
    out.whole = value.digits + std::string(static_cast<size_t>(point - size), '0');
  } else {
    out.whole = value.digits.substr(0, static_cast<size_t>(point));
    out.fraction = value.digits.substr(static_cast<size_t>(point));
  }
  return out;
}

std::string plain(const Decimal& value) {
  const Digits digits = spell(value);
  return (value.negative ? "-" : "") + digits.whole + (digits.fraction.empty() ? "" : "." + digits.fraction);
}

Result<int> to_count(const nlohmann::ordered_json& number) {
  const Decimal value = TRY(to_decimal(number));
  if (value.negative || value.exponent < 0) return fail("it is not a whole number from 0 up");
  const std::string digits = spell(value).whole;
  if (digits.size() > 9) return kMaxCount;
  return std::stoi(digits);
}

}  // namespace brass::grammar::schema
