// gpt-oss (20b, 120b): biases everywhere, attention sinks, every other layer keeps a window, experts of clamped gated
// units weighed by a softmax over the selected ones.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

// Yarn's ramp begins and ends at whole dimensions, but not in the published models, whose files do not say so:
// they are known by their rotation's numbers.
Result<RopeForm> rope_form(Builder& b, const DecoderParams& p) {
  const uint32_t rotated = TRY(read_rotated(b, p.k_dim));
  const bool published = TRY(b.positive_or("rope.freq_base", 0)) == 150000 &&
                         TRY(b.positive_or("rope.scaling.factor", 1)) == 32 &&
                         TRY(b.file().uint_or(b.key("rope.scaling.original_context_length"), 0)) == 4096 &&
                         rotated == 64;
  return RopeForm{.whole_ramp = !published};
}

Result<> describe_gpt_oss(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  ExpertParams experts = TRY(read_experts(b, {.score = RouteScore::kSoftmaxOfSelected}));
  experts.act = ActKind::kClampedSwiglu;

  RopeForm form = TRY(rope_form(b, p));
  AttentionBlock full = TRY(read_attention(b, p, true, form));
  full.sinks = true;
  ValueId window_rope = full.rope;
  if (b.file().has(b.key("rope.freq_base_swa"))) {
    form.base_key = "rope.freq_base_swa";
    window_rope = b.rope_table(TRY(read_rope(b, full.n_rot, form)), "rope_table_window");
  }
  const Windows windows = TRY(read_windows(b, p, 2));

  Decoder d{.attention = full, .ffn_norm = "post_attention_norm", .ffn = experts_or_dense(b, p, experts)};
  d.vary = [&](AttentionBlock& a, uint32_t layer) {
    if (windows.apply(a, layer)) a.rope = window_rope;
  };
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_gpt_oss;
const Architecture arch_gpt_oss{"gpt-oss", "gpt-oss 20b and 120b", describe_gpt_oss};

}  // namespace brass
