#include "report/rates.h"

namespace brass::report {
namespace {

std::optional<double> rate(int64_t count, double seconds) {
  if (count <= 0 || !(seconds > 0)) return std::nullopt;
  return static_cast<double>(count) / seconds;
}

}  // namespace

std::optional<double> prefill_tps(int64_t prompt_tokens, int64_t cached_tokens, double prefill_seconds) {
  return rate(prompt_tokens - cached_tokens, prefill_seconds);
}

std::optional<double> decode_tps(int64_t tokens, double seconds_from_first_to_last) {
  return rate(tokens - 1, seconds_from_first_to_last);
}

}  // namespace brass::report
