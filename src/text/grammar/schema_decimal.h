// Exact decimal numbers, as JSON writes them.
//
// Owns: Decimal. Invariants: one representation a value; exponents are bounded, so that a number can be spelled out.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace brass::grammar::schema {

constexpr int kMaxExponent = 5000;

struct Decimal {
  bool negative = false;
  std::string digits;    // without zeros at either end; none: zero
  int32_t exponent = 0;  // value = digits * 10^exponent

  auto operator<=>(const Decimal&) const = default;  // an order, not that of the values
  bool operator==(const Decimal&) const = default;
};

// `text` is a number as JSON writes it.
Result<Decimal> parse_decimal(std::string_view text);

// A number of a document; numbers in binary values are those of parse_schema().
bool is_number(const nlohmann::ordered_json& json);
Result<Decimal> to_decimal(const nlohmann::ordered_json& number);

// Without an exponent: the digits before and after the point; "0" before it where there are none.
struct Digits {
  std::string whole, fraction;
};
Digits spell(const Decimal& value);
std::string plain(const Decimal& value);

// A count that a keyword gives: a whole number from 0 up (those past a thousand million are as good as that).
Result<int> to_count(const nlohmann::ordered_json& number);

}  // namespace brass::grammar::schema
