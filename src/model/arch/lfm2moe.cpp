// LFM2 mixtures of experts: the mixers of lfm2.cpp; experts selected by sigmoid scores with a bias that counts for the
// selection only; the first layers are dense.
#include "model/architecture.h"
#include "model/experts.h"
#include "model/recurrent.h"

namespace brass {
namespace {

Result<> describe_lfm2moe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_attention = true}));
  const ExpertParams experts = TRY(read_experts(b, {.score = RouteScore::kSigmoid, .renormalize = true}));
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  const Mixer conv = TRY(read_short_conv(b, p, add_state_group(b)));
  decoder(b, p,
          {.output_norm = "token_embd_norm",
           .mixer = either(layers_without_attention(p), conv, attention_mixer(b, p, attention)),
           .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_lfm2moe;
const Architecture arch_lfm2moe{"lfm2moe", "LFM2 mixtures of experts", describe_lfm2moe};

}  // namespace brass
