#include "model/blocks.h"

#include <cmath>

namespace brass {

Result<DecoderParams> read_decoder(Builder& b) {
  DecoderParams p;
  p.layers = TRY(b.count("block_count", kMaxLayers));
  p.width = TRY(b.count("embedding_length", kMaxWidth));
  p.context = TRY(b.count("context_length", 1u << 30));
  p.heads = TRY(b.count_each("attention.head_count", p.layers, 4096));
  p.kv_heads = b.file().has(b.key("attention.head_count_kv"))
                   ? TRY(b.count_each("attention.head_count_kv", p.layers, 4096))
                   : p.heads;
  p.ff = TRY(b.count_each("feed_forward_length", p.layers, 1u << 22));
  const uint32_t default_dim = p.width / p.heads[0];
  p.k_dim = TRY(b.count_or("attention.key_length", std::max(default_dim, 1u), 4096));
  p.v_dim = TRY(b.count_or("attention.value_length", p.k_dim, 4096));
  p.eps = TRY(b.positive("attention.layer_norm_rms_epsilon"));
  if (p.eps > 1)
    return b.file().key_error(b.key("attention.layer_norm_rms_epsilon"),
                              fmt::format("is {}, expected < 1", p.eps));
  const gguf::TensorInfo* embedding = TRY(b.file().get("token_embd.weight"));
  if (embedding->rows() < 1 || embedding->rows() > (1u << 24))
    return b.file().tensor_error("token_embd.weight",
                                 fmt::format("has {} rows, expected one a token", embedding->rows()));
  p.vocabulary = static_cast<uint32_t>(embedding->rows());
  for (uint32_t i = 0; i < p.layers; i++)
    if (p.heads[i] % p.kv_heads[i] != 0)
      return b.file().key_error(b.key("attention.head_count_kv"),
                                fmt::format("is {} in layer {}, which does not divide head_count {}",
                                            p.kv_heads[i], i, p.heads[i]));
  if (!b.file().has(b.key("attention.key_length")) && p.width % p.heads[0] != 0)
    return b.file().key_error(
        b.key("attention.head_count"),
        fmt::format("is {}, which does not divide embedding_length {}", p.heads[0], p.width));
  return p;
}

ValueId attention_block(Builder& b, ValueId x, const AttentionBlock& a, bool last) {
  ValueId q = b.linear(x, b.block("attn_q"), a.heads * a.k_dim);
  ValueId k = b.linear(x, b.block("attn_k"), a.kv_heads * a.k_dim);
  const ValueId v = b.linear(x, b.block("attn_v"), a.kv_heads * a.v_dim);
  if (a.qk_norm) {
    q = b.head_norm(q, b.block("attn_q_norm.weight"), a.heads, a.eps);
    k = b.head_norm(k, b.block("attn_k_norm.weight"), a.kv_heads, a.eps);
  }
  if (a.rope >= 0) {
    q = b.rope(q, a.rope, {a.heads, a.k_dim, a.n_rot, a.neox}, b.block("q_rope"));
    k = b.rope(k, a.rope, {a.kv_heads, a.k_dim, a.n_rot, a.neox}, b.block("k_rope"));
  }
  const uint32_t slot = b.add_group_layer(a.group, {a.kv_heads, a.k_dim, a.v_dim});
  b.kv_write(k, v, {a.group, slot, a.kv_heads, a.k_dim, a.v_dim}, b.block("kv_write"));
  ValueId y = b.attention(q,
                          {.group = a.group,
                           .layer = slot,
                           .q_heads = a.heads,
                           .kv_heads = a.kv_heads,
                           .k_dim = a.k_dim,
                           .v_dim = a.v_dim,
                           .scale = a.scale,
                           .softcap = a.softcap,
                           .window = a.window},
                          b.block("attention"));
  if (last) y = b.gather_rows(y, b.block("attention_rows"));
  return b.linear(y, b.block("attn_output"), b.width(x));
}

ValueId gated_ffn(Builder& b, ValueId x, uint32_t ff, ActKind act) {
  const ValueId gate = b.linear(x, b.block("ffn_gate"), ff);
  const ValueId up = b.linear(x, b.block("ffn_up"), ff);
  return b.linear(b.act_mul(act, gate, up, b.block("ffn_act")), b.block("ffn_down"), b.width(x));
}

void plain_decoder(Builder& b, const DecoderParams& p, const PlainDecoder& d) {
  const uint32_t group = b.add_group({.name = "kv", .kind = GroupKind::kKv});
  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers;
    const AttentionBlock attention{.heads = p.heads[i],
                                   .kv_heads = p.kv_heads[i],
                                   .k_dim = p.k_dim,
                                   .v_dim = p.v_dim,
                                   .scale = d.scale,
                                   .group = group,
                                   .rope = d.rope,
                                   .n_rot = d.n_rot,
                                   .neox = d.neox,
                                   .qk_norm = d.qk_norm,
                                   .eps = p.eps};
    const ValueId y = attention_block(b, b.rms_norm(x, b.block("attn_norm.weight"), p.eps), attention, last);
    if (last) x = b.gather_rows(x, b.block("rows"));
    x = b.add(x, y, b.block("attn_residual"));
    const ValueId z = gated_ffn(b, b.rms_norm(x, b.block("ffn_norm.weight"), p.eps), p.ff[i], d.act);
    x = b.add(x, z, b.block("ffn_residual"));
  }
  b.set_layer(-1);
  b.logits = output_head(b, b.rms_norm(x, "output_norm.weight", p.eps), p.vocabulary);
}

ValueId output_head(Builder& b, ValueId x, uint32_t vocabulary) {
  return b.lm_head(x, b.has("output.weight") ? "output.weight" : "token_embd.weight", vocabulary);
}

Result<> refuse_experts(Builder& b) {
  const uint64_t experts = TRY(b.file().uint_or(b.key("expert_count"), 0));
  if (experts > 0)
    return b.file().key_error(b.key("expert_count"),
                              fmt::format("is {}: mixtures of experts are not supported yet", experts));
  return {};
}

}  // namespace brass
