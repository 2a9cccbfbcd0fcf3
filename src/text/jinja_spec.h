// Numbers and texts by a format specification.
//
// Owns: Spec: Python's format mini-language, parsed; how integers, floats and texts follow one.
// Must not know: where specifications come from.
#pragma once

#include "text/jinja_runtime.h"

namespace brass::jinja {

constexpr Int kMaxFormatWidth = 1'000'000;  // of a field, and of a precision

// A parsed format specification; also what a %-field amounts to.
struct Spec {
  std::string fill = " ";
  char align = 0;  // < > ^ =, or 0
  char sign = 0;   // + - blank, or 0
  bool alternate = false;
  bool zeros = false;  // in front of the width, without an alignment: numbers are filled behind their sign
  size_t width = 0;
  char grouping = 0;  // , _ or 0
  std::optional<int> precision;
  char type = 0;
  bool trusted = true;  // the template's own; else numbers come out as input
};

Result<Spec> parse_spec(std::string_view text);
// Digits from `at` on, as a width or precision.
Result<size_t> parse_format_number(std::string_view text, size_t& at, std::string_view what);

Result<Text> format_integer(Int value, const Spec& spec);
Result<Text> format_real(double value, const Spec& spec);
Text format_text(const Text& text, const Spec& spec);
// format(value, spec)
Result<Text> format_value(Runtime& rt, const Value& value, const Text& text);

std::string sign_of(bool negative, char sign);
// Brings sign, prefix and digits to the width, with Python's rules for '=' and zeros.
Text align_number(const std::string& head, const std::string& digits, const Spec& spec);
bool one_of(char c, std::string_view set);

}  // namespace brass::jinja
