#include "model/mix.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace brass {
namespace {

// "blk.12.attn_v.weight" → 12, "attn_v"; other names have layer −1.
struct Parsed {
  int layer = -1;
  std::string_view role;
};
Parsed parse(std::string_view name) {
  Parsed p;
  if (name.ends_with(".weight")) name.remove_suffix(7);
  p.role = name;
  if (!name.starts_with("blk.")) return p;
  const char* end = name.data() + name.size();
  const auto [next, error] = std::from_chars(name.data() + 4, end, p.layer);
  if (error == std::errc{} && next != end) p.role = std::string_view(next + 1, end);
  return p;
}

constexpr std::string_view kSmall[] = {"ffn_gate_inp", "ffn_gate_inp_shexp", "ssm_conv1d",   "ssm_x",
                                       "ssm_dt",       "shortconv.conv",     "position_embd"};

bool stays_float(const ShapedTensor& t) {
  return t.kind == WeightKind::kVector || t.dims.size() < 2 || !t.name.ends_with(".weight") ||
         std::ranges::find(kSmall, parse(t.name).role) != std::end(kSmall);
}

// One in eight at both ends, and every third between them.
bool more(uint32_t i, uint32_t n) { return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2; }

// A row that is not a multiple of 256 cannot have the K formats.
Type fitting(Type type, uint64_t row) {
  const auto divides = [row](Type t) { return row % find_format(t)->block_values == 0; };
  if (divides(type)) return type;
  switch (type) {
    case Type::Q4_K:
      type = Type::Q5_0;
      break;
    case Type::Q5_K:
      type = Type::Q5_1;
      break;
    case Type::Q6_K:
      type = Type::Q8_0;
      break;
    default:
      type = Type::IQ4_NL;
  }
  return divides(type) ? type : Type::F16;
}

class Mixer {
 public:
  Mixer(bool iq3, std::span<const ShapedTensor> tensors, uint32_t experts) : iq3_(iq3), experts_(experts) {
    for (const ShapedTensor& t : tensors) {
      const std::string_view role = parse(t.name).role;
      values_ += is_value(role);
      downs_ += is_down(role);
      tied_ = tied_ && t.name != "output.weight";
    }
  }

  Type of(const ShapedTensor& t) {
    const auto [layer, role] = parse(t.name);
    const Type usual = iq3_ ? Type::IQ3_S : Type::Q4_K;
    if (t.name == "output.weight" || (tied_ && t.name == "token_embd.weight")) return Type::Q6_K;
    if (is_value(role)) {
      const uint32_t i = value_++;
      if (experts_ == 8 && role == "attn_v") return Type::Q8_0;
      return iq3_ ? Type::Q4_K : more(i, values_) ? Type::Q6_K : Type::Q4_K;
    }
    if (experts_ == 8 && role == "attn_k") return Type::Q8_0;
    if (is_down(role)) {
      const uint32_t i = down_++;
      if (iq3_) return i < downs_ / 8 ? Type::Q4_K : Type::IQ3_S;
      return more(i, downs_) ? Type::Q6_K : Type::Q4_K;
    }
    if (role == "attn_output") return experts_ == 8 ? Type::Q5_K : Type::Q4_K;
    return usual;
  }

 private:
  static bool is_value(std::string_view role) { return role == "attn_v" || role == "attn_qkv"; }
  static bool is_down(std::string_view role) { return role == "ffn_down" || role == "ffn_down_exps"; }

  bool iq3_, tied_ = true;
  uint32_t experts_, values_ = 0, downs_ = 0, value_ = 0, down_ = 0;
};

}  // namespace

namespace {

bool is_mix(std::string_view mix) {
  return mix == "Q4_K_M" || mix == "IQ3_M" || mix == "MXFP4_MOE" || find_format(mix) != nullptr;
}

}  // namespace

Result<std::map<std::string, Type>> mix_types(std::string_view mix, std::span<const ShapedTensor> tensors,
                                              uint32_t experts) {
  if (!is_mix(mix))
    return fail_hint("one of Q4_K_M, IQ3_M, MXFP4_MOE, " + supported_format_names(), "mix '{}' is not known",
                     mix);
  const Format* uniform = find_format(mix);
  Mixer mixer(mix == "IQ3_M", tensors, experts);
  std::map<std::string, Type> types;
  for (const ShapedTensor& t : tensors) {
    if (stays_float(t)) continue;
    Type type;
    if (uniform != nullptr) {
      type = uniform->type;
    } else if (mix == "MXFP4_MOE") {
      type = t.name.find("_exps.") != std::string::npos ? Type::MXFP4 : Type::Q8_0;
    } else {
      type = mixer.of(t);
    }
    types[t.name] = fitting(type, t.dims[0]);
  }
  return types;
}

}  // namespace brass
