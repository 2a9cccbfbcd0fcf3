// Mixtures of experts in place of a feed-forward part, in general form.
#pragma once

#include <functional>

#include "model/blocks.h"

namespace brass {

// What a family says where its file has no key for it.
struct ExpertForm {
  RouteScore score = RouteScore::kSoftmax;
  bool renormalize = false;
  GroupScore group_score = GroupScore::kTop2Sum;  // no file says it
  uint32_t width = 0;                             // of an expert; 0: the file must say it
  uint32_t shared_width = 0;  // of the expert that all tokens share; 0: as its tensors say
};

struct ExpertParams {
  RouteAttrs route = {};              // `used` is one a layer
  std::vector<uint32_t> used, width;  // [block]; 0: a layer without experts
  uint32_t shared_width = 0;          // 0: as its tensors say, and none without them
  ActKind act = ActKind::kSilu;
  bool gated = true;         // down · (act(gate · x) · (up · x)); else down · act(up · x)
  bool shared_gate = false;  // the shared expert · sigmoid(ffn_gate_inp_shexp · x)
  uint32_t latent = 0;  // width that experts work in, between ffn_latent_down and ffn_latent_up; 0: x's own
  std::string_view expert_scale = "";  // tensor of a layer: the weight of each expert · its value
};

// expert_count, expert_used_count, expert_feed_forward_length, expert_gating_func, expert_weights_{norm,scale},
// expert_group_{count,used_count}, expert_shared_{count,feed_forward_length}.
Result<ExpertParams> read_experts(Builder& b, const ExpertForm& form);
// Whether the file has experts at all.
Result<bool> has_experts(Builder& b);
// Whether this layer has.
bool layer_has_experts(const Builder& b);

// ffn_gate_inp (router), exp_probs_b.bias where it is there, ffn_{gate,up,down}_exps or ffn_gate_up_exps, and
// ffn_{gate,up,down}_shexp; biases where the file has them. `router_input`: what the router reads; −1: x.
ValueId expert_ffn(Builder& b, ValueId x, const ExpertParams& e, ValueId router_input = -1);

// For a decoder's feed-forward part: experts in the layers that have them, a dense one in the others.
std::function<ValueId(ValueId x, uint32_t layer)> experts_or_dense(Builder& b, const DecoderParams& p,
                                                                   ExpertParams e);
// feed_forward_length ÷ expert_used_count: what old files of some families mean without
// expert_feed_forward_length.
Result<uint32_t> ff_share(Builder& b, const DecoderParams& p);

}  // namespace brass
