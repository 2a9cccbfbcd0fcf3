// Llama 1 … 3.3, Mistral, SmolLM2 and their many children: pre-norm blocks, grouped attention, SwiGLU.
// q and k rows are stored for interleaved rotation. Biases are read where a file has them.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/rope_scaling.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b));
  const uint32_t n_rot = TRY(b.count_or("rope.dimension_count", p.k_dim, p.k_dim));
  if (n_rot % 2 != 0)
    return b.file().key_error(b.key("rope.dimension_count"),
                              fmt::format("is {}, expected an even number", n_rot));
  const float scale = TRY(b.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(p.k_dim))));
  const ValueId rope = b.rope_table(TRY(read_rope(b, n_rot, 10000.0f)), "rope_table");
  const uint32_t group = b.add_group({.name = "kv", .kind = GroupKind::kKv});

  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers;
    const AttentionBlock attention{.heads = p.heads[i],
                                   .kv_heads = p.kv_heads[i],
                                   .k_dim = p.k_dim,
                                   .v_dim = p.v_dim,
                                   .scale = scale,
                                   .group = group,
                                   .rope = rope,
                                   .n_rot = n_rot,
                                   .neox = false};
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

extern const Architecture arch_llama;
const Architecture arch_llama{"llama", "Llama, Mistral, SmolLM2 and other dense models in Llama form",
                              describe};

}  // namespace brass
