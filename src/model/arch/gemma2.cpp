// Gemma 2: norms before and after each half of a block, windowed and full layers in turn with the same
// rotation, soft caps on attention and output, scaled embeddings. The file's norm weights are already 1 + w.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<float> cap_or_none(Builder& b, std::string_view name) {
  return b.file().has(b.key(name)) ? b.positive(name) : Result<float>(0.0f);
}

// The 27B model (46 layers) divides by its width per head; the others by the head's own width.
float gemma2_scale(const DecoderParams& p) {
  const uint32_t divisor = p.layers == 46 ? p.width / p.heads[0] : p.k_dim;
  return 1.0f / std::sqrt(static_cast<float>(divisor));
}

Result<> describe_gemma2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  AttentionBlock full = TRY(read_attention(b, p, true));
  full.scale = TRY(b.positive_or("attention.scale", gemma2_scale(p)));
  full.softcap = TRY(cap_or_none(b, "attn_logit_softcapping"));
  const Windows windows = TRY(read_windows(b, p, 2, 4096));

  Decoder d{.attention = full, .act = ActKind::kGeluTanh, .placement = Placement::kBoth};
  d.vary = [&](AttentionBlock& a, uint32_t layer) { windows.apply(a, layer); };
  d.embedding_scale = std::sqrt(static_cast<float>(p.width));
  d.logit_softcap = TRY(cap_or_none(b, "final_logit_softcapping"));
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_gemma2;
const Architecture arch_gemma2{"gemma2", "Gemma 2", describe_gemma2};

}  // namespace brass
