// Qwen3.5 … 3.8 (dense): three gated delta nets to each gated attention, which rotates a quarter of each head. (The
// file's rope.dimension_sections are for pictures: the sections of text have one position.)
#include "model/arch/qwen_hybrid.h"
#include "model/architecture.h"
#include "model/draft.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<Mixer> gated_attention(Builder& b, const DecoderParams& p) {
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  attention.gated = true;
  return attention_mixer(b, p, attention);
}

}  // namespace

Result<> describe_qwen_hybrid(Builder& b, const DeltaForm& form, bool experts) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = experts}));
  Decoder d{.ffn_norm = "post_attention_norm"};
  if (experts) {
    ExpertParams e = TRY(read_experts(b, {.renormalize = true}));
    e.shared_gate = true;
    d.ffn = experts_or_dense(b, p, e);
  }
  const Mixer attention = TRY(gated_attention(b, p));
  const Mixer delta = TRY(read_delta_net(b, p, form, add_state_group(b)));
  d.mixer = either(TRY(read_recurrent_layers(b, p)), delta, attention);
  decoder(b, p, d);
  return describe_drafts(b, p, [&]() -> Result<Decoder> {
    Decoder block = d;
    block.mixer = TRY(gated_attention(b, p));  // never a delta net
    return block;
  });
}

namespace {

Result<> describe_qwen35(Builder& b) {
  TRY_VOID(refuse_experts(b));
  return describe_qwen_hybrid(b, {.tiled = true, .joined_ba = false}, false);
}

}  // namespace

extern const Architecture arch_qwen35;
const Architecture arch_qwen35{"qwen35", "Qwen3.5, Qwen3.6, Qwen3.8 (dense)", describe_qwen35};

}  // namespace brass
