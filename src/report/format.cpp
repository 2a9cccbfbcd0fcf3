#include "report/format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace brass::report {
namespace {

// Three significant digits for 0 <= value < 1000, whole numbers above.
std::string three_digits(double value) {
  if (value < 9.995) return fmt::format("{:.2f}", value);
  if (value < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// With the largest decimal prefix that leaves at least 1; a whole number where there is no prefix.
std::string with_prefix(double value, const char* unit) {
  constexpr std::array kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < kPrefixes.size()) {
    value /= 1000;
    ++prefix;
  }
  const std::string digits = prefix == 0 ? fmt::format("{:.0f}", value) : three_digits(value);
  const std::string suffix = std::string(kPrefixes[prefix]) + unit;
  return suffix.empty() ? digits : digits + " " + suffix;
}

}  // namespace

std::string format_bytes(uint64_t bytes) { return with_prefix(static_cast<double>(bytes), "B"); }

std::string format_bandwidth(double bytes_a_second) { return with_prefix(bytes_a_second, "B/s"); }

std::string format_seconds(double seconds) {
  if (seconds < 999.5e-9) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 59.95) return three_digits(seconds) + " s";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string format_tps(std::optional<double> tokens_a_second) {
  return tokens_a_second ? three_digits(*tokens_a_second) + " tok/s" : "no rate";
}

std::string format_count(double count) { return with_prefix(count, ""); }

}  // namespace brass::report
