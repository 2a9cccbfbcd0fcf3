// Gemma 3 (text): norms before and after each half of a block, five sliding-window layers to one full layer,
// two rotation bases, per-head q/k norms, scaled embeddings. The file's norm weights are already 1 + w.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

// The 27B model (62 layers) divides by its width per head; the others by the head's own width.
float gemma3_scale(const DecoderParams& p) {
  const uint32_t divisor = p.layers == 62 ? p.width / p.heads[0] : p.k_dim;
  return 1.0f / std::sqrt(static_cast<float>(divisor));
}

Result<> describe_gemma3(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  TRY_VOID(b.count("attention.sliding_window", 1u << 30));  // required
  const float local_base = TRY(b.positive_or("rope.freq_base_swa", 10000.0f));

  AttentionBlock full = TRY(read_attention(b, p, true, {.base = 1000000}));
  full.scale = TRY(b.positive_or("attention.scale", gemma3_scale(p)));
  full.qk_norm = QkNorm::kHead;
  const ValueId local_rope = b.rope_table(plain_rope(full.n_rot, local_base), "rope_table_local");
  const Windows windows = TRY(read_windows(b, p, 6));

  Decoder d{.attention = full, .act = ActKind::kGeluTanh, .placement = Placement::kBoth};
  d.vary = [&](AttentionBlock& a, uint32_t layer) {
    if (windows.apply(a, layer)) a.rope = local_rope;
  };
  d.embedding_scale = std::sqrt(static_cast<float>(p.width));
  if (b.file().has(b.key("final_logit_softcapping")))
    d.logit_softcap = TRY(b.positive("final_logit_softcapping"));
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_gemma3;
const Architecture arch_gemma3{"gemma3", "Gemma 3 (text)", describe_gemma3};

}  // namespace brass
