// Granite 3 and 4: Llama's form with multipliers on embeddings, residuals, attention and logits. A file whose
// rotation was never trained (rope.scaling.finetuned false) has none. Experts, where the file has them, are weighed by
// a softmax over the selected ones. Layers without heads of k and v, where the file has state space keys, are Mamba 2.
#include "model/arch/granite.h"

#include "model/architecture.h"
#include "model/experts.h"
#include "model/recurrent.h"

namespace brass {

Result<> describe_granite(Builder& b) {
  const bool hybrid = b.file().has(b.key("ssm.conv_kernel"));
  DecoderParams p = TRY(read_decoder(b, {.no_attention = hybrid}));
  // Without experts the part that all tokens share is all that there is.
  if (!TRY(has_experts(b)))
    if (const auto shared =
            TRY(b.file().uint_or(b.key("expert_shared_feed_forward_length"), 0, 0, kMaxWidth));
        shared > 0)
      p.ff.assign(p.ff.size(), static_cast<uint32_t>(shared));
  Decoder d{.attention = TRY(read_attention(b, p, false))};
  if (!TRY(b.file().bool_or(b.key("rope.scaling.finetuned"), true))) d.attention.rope = -1;
  d.embedding_scale = TRY(b.positive_or("embedding_scale", 1));
  if (TRY(b.file().float_or(b.key("residual_scale"), 0)) != 0)  // 0 stands for 1
    d.residual_scale = TRY(b.positive("residual_scale"));
  d.logit_scale = 1 / TRY(b.positive_or("logit_scale", 1));
  if (TRY(has_experts(b)))
    d.ffn = experts_or_dense(b, p, TRY(read_experts(b, {.renormalize = true, .width = p.ff[0]})));
  if (hybrid) {
    const Mixer mamba = TRY(read_mamba2(b, p, add_state_group(b)));
    d.mixer = either(layers_without_attention(p), mamba, attention_mixer(b, p, d.attention));
  }
  decoder(b, p, d);
  return {};
}

extern const Architecture arch_granite;
const Architecture arch_granite{"granite", "Granite 3, Granite 4 (dense)", describe_granite};

}  // namespace brass
