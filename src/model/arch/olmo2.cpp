// OLMo 2 and OLMo 3 (whose files use the same name): norms behind each half of a block only, q and k normed
// over their whole width. OLMo 3 has windowed layers, whose rotation is never stretched.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_olmo2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, true)), .placement = Placement::kPost};
  d.attention.qk_norm = QkNorm::kWide;
  const float local_base =
      TRY(b.positive_or("rope.freq_base_swa", TRY(b.positive_or("rope.freq_base", 10000))));
  const ValueId local_rope = b.rope_table(plain_rope(d.attention.n_rot, local_base), "rope_table_local");
  const Windows windows = TRY(read_windows(b, p, 4));
  d.vary = [&](AttentionBlock& a, uint32_t layer) {
    if (windows.apply(a, layer)) a.rope = local_rope;
  };
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_olmo2;
const Architecture arch_olmo2{"olmo2", "OLMo 2, OLMo 3", describe_olmo2};

}  // namespace brass
