#include "report/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace brass::report {
namespace {

constexpr double kDepthSeconds = 0.5;  // of one round at one depth
constexpr uint32_t kUsualFewest = 8, kUsualMost = 32, kFewest = 2;

double round_seconds(std::span<const double> seconds_a_token, std::span<const uint32_t> tokens) {
  double sum = 0;
  for (size_t i = 0; i < tokens.size(); i++)
    sum += seconds_a_token[i] * (tokens[i] + 1.0);  // the first token is the prompt's
  return sum;
}

}  // namespace

uint32_t prompt_tokens(double seconds_a_token, uint32_t runs, double seconds, uint32_t most) {
  ENSURE(seconds_a_token > 0 && most > 0, "{} s a token, {} tokens", seconds_a_token, most);
  uint32_t tokens = most;
  while (tokens / 2 >= kFewestPromptTokens && runs * tokens * seconds_a_token > seconds) tokens /= 2;
  return tokens;
}

DecodeRounds decode_rounds(std::span<const double> seconds_a_token, uint32_t wanted, double seconds) {
  ENSURE(wanted > 0, "no rounds");
  DecodeRounds plan;
  for (const double each : seconds_a_token) {
    ENSURE(each > 0, "{} s a token", each);
    plan.tokens.push_back(
        static_cast<uint32_t>(std::clamp(kDepthSeconds / each, double{kUsualFewest}, double{kUsualMost})));
  }
  // One round at least, of fewer tokens if need be.
  for (uint32_t most = kUsualMost; most > kFewest && round_seconds(seconds_a_token, plan.tokens) > seconds;) {
    most /= 2;
    for (uint32_t& tokens : plan.tokens) tokens = std::min(tokens, std::max(most, kFewest));
  }
  const double one = round_seconds(seconds_a_token, plan.tokens);
  plan.rounds =
      static_cast<uint32_t>(std::clamp(one > 0 ? seconds / one : 1.0, 1.0, static_cast<double>(wanted)));
  return plan;
}

uint32_t pairs_in(double seconds_a_reply, double seconds, uint32_t fewest, uint32_t most) {
  ENSURE(seconds_a_reply > 0 && fewest <= most, "{} s a reply", seconds_a_reply);
  return static_cast<uint32_t>(
      std::clamp(seconds / (2 * seconds_a_reply), static_cast<double>(fewest), static_cast<double>(most)));
}

}  // namespace brass::report
