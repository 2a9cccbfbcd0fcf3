// Qwen3-Next: as qwen35moe.cpp, but v heads of a delta net stand together by k head, and one matrix makes both of its
// gates. Blocks that predict further tokens (nextn) are left out.
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
  const Mixer delta = TRY(read_delta_net(b, p, {.tiled = false, .joined_ba = true}, add_state_group(b)));
  decoder(b, p,
          {.ffn_norm = "post_attention_norm",
           .mixer = either(TRY(read_recurrent_layers(b, p)), delta, attention_mixer(b, p, attention)),
           .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_qwen3next;
const Architecture arch_qwen3next{"qwen3next", "Qwen3-Next", describe};

}  // namespace brass
