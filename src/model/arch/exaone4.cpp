// EXAONE 4: norms behind each half of a block only, per-head q/k norms. Models with a window rotate in their
// windowed layers only; those without rotate in all.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_exaone4(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  ignore_nextn(b, p);
  Decoder d{.attention = TRY(read_attention(b, p, true)), .placement = Placement::kPost};
  d.attention.qk_norm = QkNorm::kHead;
  const Windows windows = TRY(read_windows(b, p, 4));
  d.vary = [&](AttentionBlock& a, uint32_t layer) {
    if (!windows.apply(a, layer) && windows.window > 0) a.rope = -1;
  };
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_exaone4;
const Architecture arch_exaone4{"exaone4", "EXAONE 4", describe_exaone4};

}  // namespace brass
