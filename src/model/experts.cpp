#include "model/experts.h"

#include <algorithm>

namespace brass {
namespace {

constexpr uint32_t kMaxExperts = 1u << 14;
constexpr uint64_t kMaxSlots = 1u << 24;  // values of all slots of a token

Result<RouteScore> read_score(Builder& b, RouteScore fallback) {
  const std::string key = b.key("expert_gating_func");
  const uint64_t function = TRY(b.file().uint_or(key, 0));
  switch (function) {
    case 0:
      return fallback;
    case 1:
      return RouteScore::kSoftmax;
    case 2:
      return RouteScore::kSigmoid;
    case 3:
      return RouteScore::kSoftmaxOfSelected;
    default:
      return b.file().key_error(key, fmt::format("is {}, which is not supported", function),
                                "supported: 1 (softmax), 2 (sigmoid), 3 (softmax of the selected)");
  }
}

// 0 and 1 are one group.
Result<> read_groups(Builder& b, RouteAttrs& route) {
  route.groups = std::max(
      1u, static_cast<uint32_t>(TRY(b.file().uint_or(b.key("expert_group_count"), 1, 0, kMaxExperts))));
  route.groups_used = std::max(
      1u, static_cast<uint32_t>(TRY(b.file().uint_or(b.key("expert_group_used_count"), 1, 0, kMaxExperts))));
  if (route.experts % route.groups != 0)
    return b.file().key_error(
        b.key("expert_group_count"),
        fmt::format("is {}, which does not divide expert_count {}", route.groups, route.experts));
  if (route.groups_used > route.groups)
    return b.file().key_error(b.key("expert_group_used_count"),
                              fmt::format("is {} of {} groups", route.groups_used, route.groups));
  return {};
}

Result<uint32_t> read_shared_width(Builder& b, const ExpertParams& e, uint32_t fallback) {
  const auto width = static_cast<uint32_t>(
      TRY(b.file().uint_or(b.key("expert_shared_feed_forward_length"), 0, 0, kMaxWidth)));
  if (width > 0) return width;
  const auto count = static_cast<uint32_t>(TRY(b.file().uint_or(b.key("expert_shared_count"), 0, 0, 1024)));
  return count > 0 ? count * *std::ranges::max_element(e.width) : fallback;
}

Result<> check_used(Builder& b, const ExpertParams& e) {
  const uint32_t model_width = TRY(b.count("embedding_length", kMaxWidth));
  const uint32_t selectable = e.route.experts / e.route.groups * e.route.groups_used;
  for (size_t i = 0; i < e.used.size(); i++) {
    if (e.used[i] > selectable)
      return b.file().key_error(b.key("expert_used_count"),
                                fmt::format("is {} of {} experts", e.used[i], selectable));
    if (uint64_t{e.used[i]} * std::max(e.width[i], model_width) > kMaxSlots)
      return b.file().key_error(b.key("expert_used_count"),
                                fmt::format("is {}: too many for their widths", e.used[i]));
  }
  return {};
}

}  // namespace

Result<bool> has_experts(Builder& b) { return TRY(b.file().uint_or(b.key("expert_count"), 0)) > 0; }

bool layer_has_experts(const Builder& b) {
  return b.has(b.block("ffn_gate_inp.weight")) || b.has(b.block("ffn_down_exps.weight"));
}

Result<ExpertParams> read_experts(Builder& b, const ExpertForm& form) {
  ExpertParams e;
  const uint32_t blocks = TRY(b.count("block_count", kMaxLayers));
  e.route.experts = TRY(b.count("expert_count", kMaxExperts));
  e.used = TRY(b.count_each("expert_used_count", blocks, kMaxExperts, 0));
  e.width.assign(blocks, form.width);
  if (form.width == 0 || b.file().has(b.key("expert_feed_forward_length")))
    e.width = TRY(b.count_each("expert_feed_forward_length", blocks, kMaxWidth, 0));
  e.route.score = TRY(read_score(b, form.score));
  e.route.renormalize = TRY(b.file().bool_or(b.key("expert_weights_norm"), form.renormalize));
  e.route.min_sum = 1e-20f;
  const std::string scale_key = b.key("expert_weights_scale");
  const double scale = TRY(b.file().float_or(scale_key, 0));  // 0: none
  if (scale != 0) e.route.scale = TRY(b.positive("expert_weights_scale"));
  e.route.group_score = form.group_score;
  TRY_VOID(read_groups(b, e.route));
  TRY_VOID(check_used(b, e));
  e.shared_width = TRY(read_shared_width(b, e, form.shared_width));
  return e;
}

namespace {

// One layer's experts in the making.
class ExpertLayer {
 public:
  ExpertLayer(Builder& b, const ExpertParams& e)
      : b_(b),
        e_(e),
        used_(e.used[static_cast<size_t>(b.layer())]),
        width_(e.width[static_cast<size_t>(b.layer())]) {}

  ValueId add(ValueId x, ValueId router_input) {
    if (used_ == 0 || width_ == 0) return no_experts(x);
    if (b_.has(b_.block("ffn_gate.0.weight"))) return old_form(x);
    const ValueId route = routed(router_input);
    const ValueId in = e_.latent == 0 ? x : b_.linear(x, b_.block("ffn_latent_down"), e_.latent);
    const ValueId slots =
        b_.moe_linear(activated(in, route), route, b_.block("ffn_down_exps"), b_.width(in), attrs(true));
    const ValueId shared = shared_expert(x);
    const ValueId gate = shared >= 0 && e_.shared_gate ? b_.linear(x, b_.block("ffn_gate_inp_shexp"), 1) : -1;
    if (e_.latent == 0)
      return b_.moe_combine(slots, route, shared, gate, attrs(false), b_.block("ffn_combine"));
    ValueId y = b_.moe_combine(slots, route, -1, -1, attrs(false), b_.block("ffn_combine"));
    y = b_.linear(y, b_.block("ffn_latent_up"), b_.width(x));
    return shared < 0 ? y : b_.add(y, shared, b_.block("ffn_shared_sum"));
  }

 private:
  ExpertAttrs attrs(bool own_input) const {
    return {.experts = e_.route.experts, .used = used_, .own_input = own_input};
  }

  ValueId no_experts(ValueId x) {
    const std::string key = b_.key(used_ == 0 ? "expert_used_count" : "expert_feed_forward_length");
    b_.fail_with(
        b_.file().key_error(key, fmt::format("is 0 in layer {}, which has experts", b_.layer())).error());
    return x;
  }
  ValueId old_form(ValueId x) {
    b_.fail_with(b_.file()
                     .tensor_error(b_.block("ffn_gate.0.weight"),
                                   "is of an old form with a tensor for each expert",
                                   "convert the model again: the experts of a layer are one tensor now")
                     .error());
    return x;
  }

  ValueId routed(ValueId x) {
    const ValueId scores = b_.linear(x, b_.block("ffn_gate_inp"), e_.route.experts);
    RouteAttrs route = e_.route;
    route.used = used_;
    const std::string bias = b_.block("exp_probs_b.bias");
    return b_.moe_route(scores, route, b_.has(bias) ? bias : "",
                        e_.expert_scale.empty() ? "" : b_.block(e_.expert_scale), b_.block("ffn_route"));
  }

  // What ffn_down_exps reads.
  ValueId activated(ValueId x, ValueId route) {
    const std::string name = b_.block("ffn_exps_act"), fused = b_.block("ffn_gate_up_exps");
    const auto whole = [&](std::string_view what) {
      return b_.moe_linear(x, route, b_.block(what), width_, attrs(false));
    };
    // The rows of each expert: gate, then up.
    const auto half = [&](uint32_t first, std::string_view what) {
      return b_.moe_linear_slice(x, route, fused, e_.route.experts * 2 * width_, width_,
                                 {.first = first, .run = width_, .stride = 2 * width_}, attrs(false),
                                 b_.block(what));
    };
    if (!e_.gated) return b_.act(e_.act, whole("ffn_up_exps"), name);
    const bool is_fused = b_.has(fused + ".weight");
    const ValueId gate = is_fused ? half(0, "ffn_gate_exps") : whole("ffn_gate_exps");
    const ValueId up = is_fused ? half(width_, "ffn_up_exps") : whole("ffn_up_exps");
    return b_.act_mul(e_.act, gate, up, name);
  }

  // −1: there is none.
  ValueId shared_expert(ValueId x) {
    uint32_t width = e_.shared_width;
    if (width == 0)
      width = static_cast<uint32_t>(std::min<uint64_t>(b_.rows(b_.block("ffn_up_shexp.weight")), kMaxWidth));
    if (width == 0) return -1;
    const std::string name = b_.block("ffn_shexp_act");
    const ValueId gate = e_.gated ? b_.linear(x, b_.block("ffn_gate_shexp"), width) : -1;
    const ValueId wide = b_.linear(x, b_.block("ffn_up_shexp"), width);
    const ValueId y = e_.gated ? b_.act_mul(e_.act, gate, wide, name) : b_.act(e_.act, wide, name);
    return b_.linear(y, b_.block("ffn_down_shexp"), b_.width(x));
  }

  Builder& b_;
  const ExpertParams& e_;
  uint32_t used_, width_;
};

}  // namespace

ValueId expert_ffn(Builder& b, ValueId x, const ExpertParams& e, ValueId router_input) {
  return ExpertLayer(b, e).add(x, router_input >= 0 ? router_input : x);
}

std::function<ValueId(ValueId x, uint32_t layer)> experts_or_dense(Builder& b, const DecoderParams& p,
                                                                   ExpertParams e) {
  return [&b, ff = p.ff, e = std::move(e)](ValueId x, uint32_t layer) {
    return layer_has_experts(b) ? expert_ffn(b, x, e) : gated_ffn(b, x, ff[layer], e.act);
  };
}

Result<uint32_t> ff_share(Builder& b, const DecoderParams& p) {
  return p.ff[0] / TRY(b.count("expert_used_count", kMaxExperts));
}

}  // namespace brass
