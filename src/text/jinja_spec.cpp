#include "text/jinja_spec.h"

#include <algorithm>
#include <cmath>

#include "text/jinja_repr.h"
#include "text/jinja_strings.h"

namespace brass::jinja {

static std::string digits_of(Int value, unsigned base, bool upper_case) {
  if (value == 0) return "0";
  std::string out;
  for (; value > 0; value /= base) {
    const auto digit = static_cast<unsigned>(value % base);
    out += static_cast<char>(digit < 10 ? '0' + digit : (upper_case ? 'A' : 'a') + digit - 10);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

static std::string group_digits(const std::string& digits, char separator, size_t every) {
  std::string out;
  for (size_t i = 0; i < digits.size(); i++) {
    if (i > 0 && (digits.size() - i) % every == 0) out += separator;
    out += digits[i];
  }
  return out;
}

std::string sign_of(bool negative, char sign) {
  return negative ? "-" : sign == '+' ? "+" : sign == ' ' ? " " : "";
}

Text align_number(const std::string& head, const std::string& digits, const Spec& spec) {
  const size_t have = count_code_points(head) + count_code_points(digits);
  const size_t missing = spec.width > have ? spec.width - have : 0;
  std::string filling;
  for (size_t i = 0; i < missing; i++) filling += spec.fill;
  if (spec.align == '=') return Text(head + filling + digits, spec.trusted);
  if (spec.align == '<') return Text(head + digits + filling, spec.trusted);
  if (spec.align != '^') return Text(filling + head + digits, spec.trusted);
  const size_t left = missing / 2 * spec.fill.size();
  return Text(filling.substr(0, left) + head + digits + filling.substr(left), spec.trusted);
}

Result<Text> format_integer(Int value, const Spec& spec) {
  const bool negative = value < 0;
  const Int magnitude = negative ? -value : value;
  if (spec.precision) return fail("precision is not allowed for an integer");
  if (spec.type == 'c') {
    if (value < 0 || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
      return fail("no such character");
    std::string out;
    append_utf8(out, static_cast<char32_t>(value));
    Spec input = spec;
    input.trusted = false;  // a number may have come from anywhere
    return align_number("", out, input);
  }
  const unsigned base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : (spec.type | 32) == 'x' ? 16 : 10;
  std::string digits = digits_of(magnitude, base, spec.type == 'X');
  const size_t every = base == 10 ? 3 : 4;
  if (spec.grouping != 0) {
    // Zeros that fill the width are grouped as well.
    const size_t head = sign_of(negative, spec.sign).size() + (spec.alternate && base != 10 ? 2 : 0);
    if (spec.align == '=' && spec.fill == "0") {
      while (head + group_digits(digits, ',', every).size() < spec.width) digits.insert(0, "0");
    }
    digits = group_digits(digits, spec.grouping, every);
    if (digits[0] == spec.grouping) digits.insert(0, "0");
  }
  std::string head = sign_of(negative, spec.sign);
  if (spec.alternate && base != 10) head += {'0', spec.type};
  return align_number(head, digits, spec);
}

// %g with trailing zeros dropped unless '#'.
static std::string general(double value, int precision, bool alternate) {
  char buffer[512];
  const int size = std::snprintf(buffer, sizeof buffer, alternate ? "%#.*g" : "%.*g", precision, value);
  return std::string(buffer, static_cast<size_t>(size));
}

static std::string fixed(double value, int precision, bool alternate) {
  std::string out = fmt::format("{:.{}f}", value, precision);
  if (alternate && precision == 0) out += ".";
  return out;
}

static std::string scientific(double value, int precision, bool alternate) {
  std::string out = fmt::format("{:.{}e}", value, precision);
  if (alternate && precision == 0) out.insert(out.find('e'), ".");
  return out;
}

Result<Text> format_real(double value, const Spec& spec) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double magnitude = std::fabs(value);
  const char type = spec.type == 0 ? 0 : static_cast<char>(spec.type | 32);
  const int precision = spec.precision.value_or(6);
  if (precision > 400 && (type == 'g' || type == 0)) return fail("the precision is too large");
  std::string digits;
  if (!std::isfinite(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
    if (spec.type == '%') digits += "%";
  } else if (type == 'f') {
    digits = fixed(magnitude, precision, spec.alternate);
  } else if (spec.type == '%') {
    digits = fixed(magnitude * 100, precision, spec.alternate) + "%";
  } else if (type == 'e') {
    digits = scientific(magnitude, precision, spec.alternate);
  } else if (type == 'g' || type == 'n') {
    digits = general(magnitude, std::max(precision, 1), spec.alternate);
  } else if (!spec.precision) {
    digits = float_repr(magnitude);
  } else {  // as %g, but always with a digit after the point
    const int p = std::max(precision, 1);
    const int exponent = magnitude == 0
                             ? 0
                             : std::stoi(scientific(magnitude, p - 1, false)
                                             .substr(scientific(magnitude, p - 1, false).find('e') + 1));
    digits = general(magnitude, p, spec.alternate);
    if (exponent >= p - 1 && digits.find('e') == std::string::npos && p == exponent + 1) {
      digits = scientific(magnitude, p - 1, false);
      const size_t e = digits.find('e');
      std::string mantissa = digits.substr(0, e);
      while (mantissa.find('.') != std::string::npos && (mantissa.back() == '0' || mantissa.back() == '.')) {
        const bool point = mantissa.back() == '.';
        mantissa.pop_back();
        if (point) break;
      }
      digits = mantissa + digits.substr(e);
    } else if (digits.find_first_of(".e") == std::string::npos) {
      digits += ".0";
    }
  }
  if (type == 0 && spec.alternate && std::isfinite(value) && digits.find('.') == std::string::npos)
    digits.insert(std::min(digits.find('e'), digits.size()), ".");
  if (spec.type == 'F' || spec.type == 'E' || spec.type == 'G') {
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  }
  const std::string head = sign_of(negative, spec.sign);
  if (spec.grouping != 0 && std::isfinite(value)) {
    const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string integer = digits.substr(0, whole);
    const std::string rest = digits.substr(whole);
    if (spec.align == '=' && spec.fill == "0") {
      while (head.size() + group_digits(integer, ',', 3).size() + rest.size() < spec.width)
        integer.insert(0, "0");
    }
    digits = group_digits(integer, spec.grouping, 3) + rest;
  }
  return align_number(head, digits, spec);
}

Text format_text(const Text& text, const Spec& spec) {
  Text out = text;
  if (spec.precision) {
    out = text.slice(0, code_point_offset(text.view(), static_cast<size_t>(*spec.precision)));
  }
  if (spec.align != '^')
    return pad(out, spec.width, spec.align == '>' ? Side::left : Side::right, Text(spec.fill, spec.trusted));
  const size_t length = count_code_points(out.view());
  if (spec.width <= length) return out;
  const size_t left = (spec.width - length) / 2;  // not str.center's rule
  return pad(pad(out, length + left, Side::left, Text(spec.fill, spec.trusted)), spec.width, Side::right,
             Text(spec.fill, spec.trusted));
}

Result<size_t> parse_format_number(std::string_view text, size_t& at, std::string_view what) {
  Int value = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    value = value * 10 + (text[at++] - '0');
    if (value > kMaxFormatWidth) return fail("the {} of a format is too large", what);
  }
  return static_cast<size_t>(value);
}

Result<Spec> parse_spec(std::string_view text) {
  Spec spec;
  bool fill_given = false;
  size_t at = 0, length = 0;
  const auto is_align = [&](size_t i) {
    return i < text.size() && std::string_view("<>^=").find(text[i]) != std::string_view::npos;
  };
  if (!text.empty()) decode_at(text, 0, length);
  if (length > 0 && is_align(length)) {
    spec.fill = text.substr(0, length);
    spec.align = text[length];
    fill_given = true;
    at = length + 1;
  } else if (is_align(0)) {
    spec.align = text[at++];
  }
  if (at < text.size() && std::string_view("+- ").find(text[at]) != std::string_view::npos)
    spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = true, at++;
  if (!fill_given && at < text.size() && text[at] == '0') {
    spec.fill = "0";
    spec.zeros = spec.align == 0;
    at++;
  }
  spec.width = TRY(parse_format_number(text, at, "width"));
  if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
  if (at < text.size() && text[at] == '.') {
    const size_t digits = ++at;
    spec.precision = static_cast<int>(TRY(parse_format_number(text, at, "precision")));
    if (at == digits) return fail("the precision of a format is missing");
  }
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) return fail("invalid format '{}'", text);
  const bool groups = spec.grouping == 0 || spec.type == 0 || one_of(spec.type, "deEfFgG%") ||
                      (spec.grouping == '_' && one_of(spec.type, "boxX"));
  if (!groups) return fail("format '{}': '{}' does not go with '{}'", text, spec.grouping, spec.type);
  if (spec.type == 'c' && (spec.sign != 0 || spec.alternate))
    return fail("format '{}': a character has no sign and no other form", text);
  return spec;
}

bool one_of(char c, std::string_view set) { return c != 0 && set.find(c) != std::string_view::npos; }

Result<Text> format_value(Runtime& rt, const Value& value, const Text& text) {
  const std::string_view spec_text = text.view();
  if (spec_text.empty()) return to_text(rt, value);
  Spec spec = TRY(parse_spec(spec_text));
  spec.trusted = text.trusted();
  TRY(rt.step(spec.width / 16));
  if (spec.zeros && !value.is_string()) spec.align = '=';
  const auto refuse = [&] {
    return fail("format '{}' does not fit a value of type {}", spec_text, type_name(value));
  };
  if (value.is_integral()) {
    if (one_of(spec.type, "eEfFgG%")) return format_real(value.to_double(), spec);
    if (spec.type != 0 && !one_of(spec.type, "bcdnoxX")) return refuse();
    return format_integer(value.as_int(), spec);
  }
  if (value.is(Kind::real)) {
    if (spec.type != 0 && !one_of(spec.type, "eEfFgGn%")) return refuse();
    return format_real(value.as_real(), spec);
  }
  if (!value.is_string() || (spec.type != 0 && spec.type != 's') || spec.align == '=' || spec.sign != 0 ||
      spec.grouping != 0 || spec.alternate) {
    return refuse();
  }
  return format_text(value.str().text(), spec);
}

}  // namespace brass::jinja
