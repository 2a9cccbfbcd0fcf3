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
};

// The dimension whose wavelength makes `turns` full turns in the original length.
double yarn_dimension(const Yarn& y, double turns) {
  return y.n_rot * std::log(y.original_length / (turns * 2 * std::numbers::pi)) /
         (2 * std::log(static_cast<double>(y.base)));
}

void apply_yarn(const Yarn& y, RopeTableAttrs& table) {
  const double low = std::max(std::floor(yarn_dimension(y, y.beta_fast)), 0.0);
  double high = std::min(std::ceil(yarn_dimension(y, y.beta_slow)), y.n_rot - 1.0);
  if (high == low) high += 0.001;
  for (uint32_t i = 0; i < y.n_rot / 2; i++) {
    const double ramp = std::clamp((i - low) / (high - low), 0.0, 1.0);  // 0: unchanged, 1: ÷ factor
    const double plain = table.inv_freq[i];
    table.inv_freq[i] = static_cast<float>(plain / y.factor * ramp + plain * (1 - ramp));
  }
}

Result<> read_yarn(Builder& b, uint32_t n_rot, float base, float factor, RopeTableAttrs& table) {
  Yarn y{.factor = factor, .base = base, .n_rot = n_rot};
  const uint32_t trained = TRY(b.count("context_length", UINT32_MAX));
  y.original_length =
      static_cast<float>(TRY(b.count_or("rope.scaling.original_context_length", trained, 1u << 30)));
  y.beta_fast = TRY(b.positive_or("rope.scaling.yarn_beta_fast", 32.0f));
  y.beta_slow = TRY(b.positive_or("rope.scaling.yarn_beta_slow", 1.0f));
  if (b.file().has(b.key("rope.scaling.yarn_log_multiplier")))
    return b.file().key_error(b.key("rope.scaling.yarn_log_multiplier"),
                              "is not supported by this architecture");
  apply_yarn(y, table);
  // The model's own attention factor stands for itself; without one it follows from the stretch.
  const float implied =
      factor > 1 ? static_cast<float>(0.1 * std::log(static_cast<double>(factor)) + 1.0) : 1.0f;
  table.magnitude = TRY(b.positive_or("rope.scaling.yarn_attn_factor", implied));
  table.magnitude *= TRY(b.positive_or("rope.scaling.attn_factor", 1.0f));
  return {};
}

}  // namespace

Result<RopeTableAttrs> read_rope(Builder& b, uint32_t n_rot, float base_default, std::string_view base_key) {
  const float base = TRY(b.positive_or(base_key, base_default));
  if (base <= 1)
    return b.file().key_error(b.key(base_key), fmt::format("is {}, expected a number above 1", base));
  RopeTableAttrs table = plain_rope(n_rot, base);

  // Older files give a linear scale without a type.
  const std::string type_key = b.key("rope.scaling.type");
  const float old_factor = TRY(b.positive_or("rope.scale_linear", 1.0f));
  const float factor = TRY(b.positive_or("rope.scaling.factor", old_factor));
  const std::string type = TRY(b.file().string_or(type_key, factor != 1 ? "linear" : "none"));
  if (type == "linear") {
    for (float& f : table.inv_freq) f /= factor;
  } else if (type == "yarn") {
    TRY_VOID(read_yarn(b, n_rot, base, factor, table));
  } else if (type != "none" && type != "") {
    return b.file().key_error(type_key, fmt::format("is '{}', which is not supported", type),
                              "supported: none, linear, yarn, and Llama 3's rope_freqs.weight");
  }

  if (b.has("rope_freqs.weight")) {
    const std::vector<float> divisors = TRY(b.read_vector("rope_freqs.weight", n_rot / 2));
    for (size_t i = 0; i < divisors.size(); i++) {
      if (!(divisors[i] > 0))
        return b.file().tensor_error("rope_freqs.weight",
                                     fmt::format("value {} is {}, expected > 0", i, divisors[i]));
      table.inv_freq[i] /= divisors[i];
    }
  }
  return table;
}

}  // namespace brass
