// Falcon 7B, 40B, 180B and 11B: attention and feed-forward part side by side, layer norms, fused q | k | v,
// GELU by the error function without a gate. The larger ones norm what the attention reads apart.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_falcon(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, true)),
            .act = ActKind::kGeluErf,
            .gated_ffn = false,
            .norm = NormKind::kLayer,
            .placement = Placement::kParallel,
            .ffn_norm = "attn_norm"};
  if (b.has("blk.0.attn_norm_2.weight")) d.attn_norm = "attn_norm_2";
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_falcon;
const Architecture arch_falcon{"falcon", "Falcon 7B, 11B, 40B, 180B", describe_falcon};

}  // namespace brass
