// Qwen3.5 … 3.8 (dense): three gated delta nets to each gated attention, which rotates a quarter of each head. (The
// file's rope.dimension_sections are for pictures: the sections of text have one position.)
// Blocks that predict further tokens (nextn) are left out.
#include "model/architecture.h"
#include "model/recurrent.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b));
  ignore_nextn(b, p);
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  attention.gated = true;
  const Mixer delta = TRY(read_delta_net(b, p, {.tiled = true, .joined_ba = false}, add_state_group(b)));
  decoder(b, p,
          {.ffn_norm = "post_attention_norm",
           .mixer = either(TRY(read_recurrent_layers(b, p)), delta, attention_mixer(b, p, attention))});
  return {};
}

}  // namespace

extern const Architecture arch_qwen35;
const Architecture arch_qwen35{"qwen35", "Qwen3.5, Qwen3.6, Qwen3.8 (dense)", describe};

}  // namespace brass
