// GLM-4.5, 4.6, 4.7 (and Air): rotation of a part of each head, norms on q and k in some files, experts selected by
// sigmoid scores with a bias that counts for the selection only, beside a shared one; the first layers are dense.
#include "model/architecture.h"
#include "model/draft.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_glm4moe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  const ExpertParams experts = TRY(read_experts(b, {.score = RouteScore::kSigmoid}));
  const auto layer = [&]() -> Result<Decoder> {
    AttentionBlock attention = TRY(read_attention(b, p, true));
    if (b.has("blk.0.attn_q_norm.weight")) attention.qk_norm = QkNorm::kHead;
    return Decoder{
        .attention = attention, .ffn_norm = "post_attention_norm", .ffn = experts_or_dense(b, p, experts)};
  };
  decoder(b, p, TRY(layer()));
  return describe_drafts(b, p, layer);
}

}  // namespace

extern const Architecture arch_glm4moe;
const Architecture arch_glm4moe{"glm4moe", "GLM-4.5, GLM-4.6, GLM-4.7 and their Air forms", describe_glm4moe};

}  // namespace brass
