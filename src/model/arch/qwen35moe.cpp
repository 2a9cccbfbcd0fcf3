// Qwen3.5 … 3.8 mixtures of experts: the mixers of qwen35.cpp; experts weighed among those selected, beside one that all
// tokens use, behind a gate of its own. Blocks that predict further tokens (nextn) are left out.
#include "model/architecture.h"
#include "model/experts.h"
#include "model/recurrent.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  ignore_nextn(b, p);
  ExpertParams experts = TRY(read_experts(b, {.renormalize = true}));
  experts.shared_gate = true;
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  attention.gated = true;
  const Mixer delta = TRY(read_delta_net(b, p, {.tiled = true, .joined_ba = false}, add_state_group(b)));
  decoder(b, p,
          {.ffn_norm = "post_attention_norm",
           .mixer = either(TRY(read_recurrent_layers(b, p)), delta, attention_mixer(b, p, attention)),
           .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_qwen35moe;
const Architecture arch_qwen35moe{"qwen35moe", "Qwen3.5, Qwen3.6, Qwen3.8 mixtures of experts", describe};

}  // namespace brass
