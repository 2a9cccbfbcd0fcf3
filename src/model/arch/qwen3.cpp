// Qwen3 (dense): Llama's block with a norm on each head of q and k, and rotation by halves.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/rope_scaling.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  const ValueId rope = b.rope_table(TRY(read_rope(b, p.k_dim, 10000.0f)), "rope_table");
  const uint32_t group = b.add_group({.name = "kv", .kind = GroupKind::kKv});

  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers;
    const AttentionBlock attention{.heads = p.heads[i],
                                   .kv_heads = p.kv_heads[i],
                                   .k_dim = p.k_dim,
                                   .v_dim = p.v_dim,
                                   .scale = 1.0f / std::sqrt(static_cast<float>(p.k_dim)),
                                   .group = group,
                                   .rope = rope,
                                   .n_rot = p.k_dim,
                                   .neox = true,
                                   .qk_norm = true,
                                   .eps = p.eps};
    const ValueId y = attention_block(b, b.rms_norm(x, b.block("attn_norm.weight"), p.eps), attention, last);
    if (last) x = b.gather_rows(x, b.block("rows"));
    x = b.add(x, y, b.block("attn_residual"));
    const ValueId z = gated_ffn(b, b.rms_norm(x, b.block("ffn_norm.weight"), p.eps), p.ff[i], ActKind::kSilu);
    x = b.add(x, z, b.block("ffn_residual"));
  }
  b.set_layer(-1);
  b.logits = output_head(b, b.rms_norm(x, "output_norm.weight", p.eps), p.vocabulary);
  return {};
}

}  // namespace

extern const Architecture arch_qwen3;
const Architecture arch_qwen3{"qwen3", "Qwen3 (dense)", describe};

}  // namespace brass
