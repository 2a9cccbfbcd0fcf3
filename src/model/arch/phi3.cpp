// Phi-3, Phi-3.5 and Phi-4: the plain decoder with fused q | k | v and gate | up, rotation by halves of a
// part of the head, and long contexts by two sets of rotation factors (see rope_scaling.h).
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_phi3(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, true))};
  // Phi-3-mini's 4k form: every layer sees 2047 tokens back.
  const auto window = static_cast<int32_t>(
      TRY(b.file().uint_or(b.key("attention.sliding_window"), 0, 0, 1u << 30)));  // 0: none
  if (window > 0) {
    d.attention.window = window;
    b.group(d.attention.group) = {.name = "window", .kind = GroupKind::kWindow, .window = window};
  }
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_phi3;
const Architecture arch_phi3{"phi3", "Phi-3, Phi-3.5, Phi-4 (dense)", describe_phi3};

}  // namespace brass
