// StableLM 2 and StableLM 3B: layer norms; blocks one after the other, or side by side where there is no
// ffn_norm; a quarter of each head rotated; the 12B norms each head of q and k with weights of its own.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_stablelm(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, true)), .norm = NormKind::kLayer};
  if (b.has("blk.0.attn_q_norm.weight")) d.attention.qk_norm = QkNorm::kLayer;
  if (!b.has("blk.0.ffn_norm.weight")) {
    d.placement = Placement::kParallel;
    d.ffn_norm = "attn_norm";
  }
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_stablelm;
const Architecture arch_stablelm{"stablelm", "StableLM 2, StableLM 3B, Zephyr", describe_stablelm};

}  // namespace brass
