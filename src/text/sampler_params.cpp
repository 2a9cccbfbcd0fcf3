#include "text/sampler_params.h"

#include <cmath>
#include <limits>
#include <string_view>

namespace brass {
namespace {

// NaN fails both comparisons, so it is out of every range.
Result<> in_range(std::string_view field, double value, double low, double high, std::string_view hint) {
  if (value >= low && value <= high) return {};
  return std::unexpected(
      Error{fmt::format("{}: {} is outside [{}, {}]", field, value, low, high), std::string(hint), true});
}

Result<> validate_dry(const DryParams& dry, int vocab_size) {
  TRY_VOID(in_range("dry.multiplier", dry.multiplier, 0, 1e4, "0 turns DRY off"));
  TRY_VOID(in_range("dry.base", dry.base, 1, 1e3, "1.75 is usual"));
  TRY_VOID(in_range("dry.allowed_length", dry.allowed_length, 1, DryParams::kMaxWindow, "2 is usual"));
  TRY_VOID(in_range("dry.penalty_last_n", dry.penalty_last_n, -1, DryParams::kMaxWindow,
                    "-1 looks back as far as DRY can, 0 turns it off"));
  TRY_VOID(in_range("dry.sequence_breakers (their number)", static_cast<double>(dry.sequence_breakers.size()),
                    0, DryParams::kMaxBreakers, "give fewer sequences"));
  for (size_t i = 0; i < dry.sequence_breakers.size(); ++i) {
    const auto& sequence = dry.sequence_breakers[i];
    TRY_VOID(in_range(fmt::format("dry.sequence_breakers[{}] (its length)", i),
                      static_cast<double>(sequence.size()), 1, DryParams::kMaxBreakerLength,
                      "a breaker is a short token sequence"));
    for (const int32_t id : sequence) {
      if (id < 0 || id >= vocab_size)
        return wrong_use("dry.sequence_breakers[{}]: token id {} is outside the vocabulary of {}", i, id,
                         vocab_size);
    }
  }
  return {};
}

Result<> validate_xtc(const XtcParams& xtc) {
  TRY_VOID(in_range("xtc.probability", xtc.probability, 0, 1, "0 turns XTC off"));
  if (xtc.probability > 0)
    TRY_VOID(in_range("xtc.threshold", xtc.threshold, 0, 0.5, "two tokens can not both have more than half"));
  else if (std::isnan(xtc.threshold))
    return wrong_use("xtc.threshold: nan is not a probability");
  return {};
}

Result<> validate_bias(const SamplingParams& params, int vocab_size) {
  for (const auto& [id, bias] : params.logit_bias) {
    if (id < 0 || id >= vocab_size)
      return wrong_use("logit_bias: token id {} is outside the vocabulary of {}", id, vocab_size);
    if (bias == -std::numeric_limits<float>::infinity()) continue;
    TRY_VOID(in_range(fmt::format("logit_bias of token id {}", id), bias, -SamplingParams::kMaxBias,
                      SamplingParams::kMaxBias, "minus infinity forbids a token"));
  }
  return {};
}

}  // namespace

Result<> validate(const SamplingParams& params, int vocab_size) {
  if (vocab_size <= 0) return wrong_use("vocab_size: {} tokens to choose from", vocab_size);
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  TRY_VOID(in_range("temperature", params.temperature, 0, kMaxFloat, "0 is greedy, 0.8 is usual"));
  TRY_VOID(in_range("top_k", params.top_k, 0, std::numeric_limits<int>::max(), "0 keeps all tokens"));
  TRY_VOID(in_range("top_p", params.top_p, 0, 1, "1 keeps all tokens"));
  TRY_VOID(in_range("min_p", params.min_p, 0, 1, "0 keeps all tokens"));
  TRY_VOID(in_range("typical_p", params.typical_p, 0, 1, "1 keeps all tokens"));
  TRY_VOID(in_range("repeat_last_n", params.repeat_last_n, -1, SamplingParams::kMaxWindow,
                    "-1 looks at the whole text, 0 turns penalties off"));
  TRY_VOID(in_range("repeat_penalty", params.repeat_penalty, 0.01f, 100, "1 turns it off"));
  TRY_VOID(in_range("frequency_penalty", params.frequency_penalty, -100, 100, "0 turns it off"));
  TRY_VOID(in_range("presence_penalty", params.presence_penalty, -100, 100, "0 turns it off"));
  TRY_VOID(validate_dry(params.dry, vocab_size));
  TRY_VOID(validate_xtc(params.xtc));
  return validate_bias(params, vocab_size);
}

}  // namespace brass
