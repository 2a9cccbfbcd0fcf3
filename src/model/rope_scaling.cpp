#include "model/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace brass {

RopeTableAttrs plain_rope(uint32_t n_rot, float base) {
  RopeTableAttrs table;
  for (uint32_t i = 0; i < n_rot / 2; i++)
    table.inv_freq.push_back(static_cast<float>(1.0 / std::pow(static_cast<double>(base), 2.0 * i / n_rot)));
  return table;
}

namespace {

struct Yarn {
  float factor, original_length, beta_fast, beta_slow, base;
  uint32_t n_rot;
  bool whole_ramp;
};

// The dimension whose wavelength makes `turns` full turns in the original length.
double yarn_dimension(const Yarn& y, double turns) {
  return y.n_rot * std::log(y.original_length / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(y.base)));
}

void apply_yarn(const Yarn& y, RopeTableAttrs& table) {
  double low = yarn_dimension(y, y.beta_fast), high = yarn_dimension(y, y.beta_slow);
  if (y.whole_ramp) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, y.n_rot - 1.0);
  if (high == low) high += 0.001;
  for (uint32_t i = 0; i < y.n_rot / 2; i++) {
    const double ramp = std::clamp((i - low) / (high - low), 0.0, 1.0);  // 0: unchanged, 1: ÷ factor
    const double plain = table.inv_freq[i];
    table.inv_freq[i] = static_cast<float>(plain / y.factor * ramp + plain * (1 - ramp));
  }
}

Result<uint32_t> original_length(Builder& b) {
  const uint32_t trained = TRY(b.count("context_length", UINT32_MAX));
  return b.count_or("rope.scaling.original_context_length", trained, 1u << 30);
}

Result<> read_yarn(Builder& b, uint32_t n_rot, float base, float factor, const RopeForm& form,
                   RopeTableAttrs& table) {
  Yarn y{.factor = factor, .base = base, .n_rot = n_rot, .whole_ramp = form.whole_ramp};
  y.original_length = static_cast<float>(TRY(original_length(b)));
  y.beta_fast = TRY(b.positive_or("rope.scaling.yarn_beta_fast", 32.0f));
  y.beta_slow = TRY(b.positive_or("rope.scaling.yarn_beta_slow", 1.0f));
  const std::string extrapolation = b.key("rope.scaling.yarn_ext_factor");
  if (TRY(b.file().float_or(extrapolation, 1.0)) != 1.0)
    return b.file().key_error(extrapolation, "is not 1, which is not supported");
  const bool log_multiplier = b.file().has(b.key("rope.scaling.yarn_log_multiplier"));
  if (log_multiplier && !form.log_multiplier)
    return b.file().key_error(b.key("rope.scaling.yarn_log_multiplier"),
                              "is not supported by this architecture");
  apply_yarn(y, table);
  // The model's own attention factor stands for itself; without one it follows from the stretch.
  const float implied = factor > 1 && !log_multiplier
                            ? static_cast<float>(0.1 * std::log(static_cast<double>(factor)) + 1.0)
                            : 1.0f;
  table.magnitude = TRY(b.positive_or("rope.scaling.yarn_attn_factor", implied));
  return {};
}

// The frequencies ÷ the tensor's factor of each pair. An infinite one stands for "not rotated".
Result<std::vector<float>> divided(Builder& b, const std::vector<float>& inv_freq,
                                   const std::string& tensor) {
  const std::vector<float> divisors = TRY(b.read_vector(tensor, static_cast<uint32_t>(inv_freq.size())));
  std::vector<float> out(inv_freq.size());
  for (size_t i = 0; i < divisors.size(); i++) {
    if (!(divisors[i] > 0))
      return b.file().tensor_error(tensor, fmt::format("value {} is {}, expected > 0", i, divisors[i]));
    out[i] = inv_freq[i] / divisors[i];
  }
  return out;
}

}  // namespace

Result<uint32_t> read_rotated(Builder& b, uint32_t head_dim) {
  const uint32_t n_rot = TRY(b.count_or("rope.dimension_count", head_dim, head_dim));
  if (n_rot % 2 != 0)
    return b.file().key_error(b.key("rope.dimension_count"),
                              fmt::format("is {}, expected an even number", n_rot));
  return n_rot;
}

Result<RopeTableAttrs> read_rope(Builder& b, uint32_t n_rot, const RopeForm& form) {
  const float base = TRY(b.positive_or(form.base_key, form.base));
  if (base <= 1)
    return b.file().key_error(b.key(form.base_key), fmt::format("is {}, expected a number above 1", base));
  RopeTableAttrs table = plain_rope(n_rot, base);

  // Older files give a linear scale without a type.
  const std::string type_key = b.key("rope.scaling.type");
  const float old_factor = TRY(b.positive_or("rope.scale_linear", 1.0f));
  const float factor = TRY(b.positive_or("rope.scaling.factor", old_factor));
  const bool has_factors = b.has("rope_factors_short.weight") || b.has("rope_factors_long.weight");
  const std::string usual = has_factors ? "longrope" : factor != 1 ? "linear" : "none";
  const std::string type = TRY(b.file().string_or(type_key, usual));
  if (type == "linear") {
    for (float& f : table.inv_freq) f /= factor;
  } else if (type == "yarn") {
    TRY_VOID(read_yarn(b, n_rot, base, factor, form, table));
  } else if (type == "longrope" || (has_factors && (type == "none" || type.empty()))) {
    table.long_above = TRY(original_length(b));
    table.long_inv_freq = TRY(divided(b, table.inv_freq, "rope_factors_long.weight"));
    table.inv_freq = TRY(divided(b, table.inv_freq, "rope_factors_short.weight"));
  } else if (type != "none" && !type.empty()) {
    return b.file().key_error(type_key, fmt::format("is '{}', which is not supported", type),
                              "supported: none, linear, yarn, longrope, and Llama 3's rope_freqs.weight");
  }
  table.magnitude *= TRY(b.positive_or("rope.scaling.attn_factor", 1.0f));
  if (b.has("rope_freqs.weight")) table.inv_freq = TRY(divided(b, table.inv_freq, "rope_freqs.weight"));
  return table;
}

}  // namespace brass
