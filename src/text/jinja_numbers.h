// Numbers from text and rounding, as Python's int(), float() and round().
//
// Must not know: values beyond numbers.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja_value.h"

namespace brass::jinja {

// int(text, base); base 0 goes by the prefix. Nothing if it is not a number, an error if it is too large.
Result<std::optional<Int>> parse_int(std::string_view text, int base);
std::optional<double> parse_float(std::string_view text);
double round_to(double value, int digits);  // to nearest on the decimal value, ties to even

}  // namespace brass::jinja
