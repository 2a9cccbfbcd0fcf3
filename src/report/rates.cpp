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

std::optional<double> decode_tps(int64_t tokens, double t_first, double t_last) {
  return rate(tokens - 1, t_last - t_first);
}

}  // namespace brass::report
