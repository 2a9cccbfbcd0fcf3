// LFM2 (dense): gated short convolutions, and attention with a norm on each head of q and k in the layers that have
// heads of k and v.
#include "model/architecture.h"
#include "model/recurrent.h"

namespace brass {
namespace {

Result<> describe_lfm2(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b, {.no_attention = true}));
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  const Mixer conv = TRY(read_short_conv(b, p, add_state_group(b)));
  decoder(b, p,
          {.output_norm = "token_embd_norm",
           .mixer = either(layers_without_attention(p), conv, attention_mixer(b, p, attention))});
  return {};
}

}  // namespace

extern const Architecture arch_lfm2;
const Architecture arch_lfm2{"lfm2", "LFM2, LFM2.5 (dense)", describe_lfm2};

}  // namespace brass
