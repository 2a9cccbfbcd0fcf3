// Command R7B and Command A: attention and feed-forward part side by side behind one layer norm; three
// windowed layers with rotation to one full layer without; logits × logit_scale.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_cohere2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  TRY(b.count("attention.sliding_window", 1u << 30));  // required
  Decoder d{.attention = TRY(read_attention(b, p, false)),
            .norm = NormKind::kLayer,
            .placement = Placement::kParallel,
            .ffn_norm = "attn_norm"};
  const Windows windows = TRY(read_windows(b, p, 4));
  d.vary = [&](AttentionBlock& a, uint32_t layer) {
    if (!windows.apply(a, layer)) a.rope = -1;
  };
  d.logit_scale = TRY(b.positive("logit_scale"));
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_cohere2;
const Architecture arch_cohere2{"cohere2", "Command R7B, Command A", describe_cohere2};

}  // namespace brass
