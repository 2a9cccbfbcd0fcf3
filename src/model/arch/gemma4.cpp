// Gemma 4 (text): windowed and full layers of different head sizes, values that may be the keys before their norm, the
// last layers reading earlier layers' keys and values, an embedding for each layer, a mixture of experts beside the
// dense part. Norm weights are plain.
#include <array>
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/experts.h"

namespace brass {
namespace {

// What layers of one kind, windowed or full, share.
struct Kind {
  uint32_t dim, n_rot;  // of a head
  ValueId rope;
  uint32_t group;
  int32_t window;
  int32_t slot = -1;  // of its last layer that wrote keys and values
};

struct Params {
  DecoderParams decoder;
  std::vector<bool> windowed;
  std::array<Kind, 2> kinds;  // full, windowed
  uint32_t sharing;           // last layers, which write no keys and values
  uint32_t per_layer;         // width of the embedding for each layer; 0: none
  bool has_experts;
  ExpertParams experts;
};

Result<Params> read_params(Builder& b) {
  Params g{.decoder = TRY(read_decoder(b))};
  const DecoderParams& p = g.decoder;
  const Windows windows = TRY(read_windows(b, p, 6));
  if (windows.window == 0) return b.file().key_error(b.key("attention.sliding_window"), "is missing or 0");
  g.windowed = windows.windowed;
  const uint32_t dim = TRY(b.count_or("attention.key_length_swa", p.k_dim, 4096));
  const uint32_t n_rot = TRY(b.count_or("rope.dimension_count_swa", dim, 4096));
  const float base = TRY(b.positive_or("rope.freq_base_swa", 10000.0f));
  const uint32_t full_rot = TRY(read_rotated(b, p.k_dim));
  g.kinds[0] = {.dim = p.k_dim,
                .n_rot = full_rot,
                .rope = b.rope_table(TRY(read_rope(b, full_rot, {.base = 1000000.0f})), "rope_table"),
                .group = b.add_group({.name = "kv", .kind = GroupKind::kKv}),
                .window = 0};
  g.kinds[1] = {.dim = dim,
                .n_rot = n_rot,
                .rope = b.rope_table(plain_rope(n_rot, base), "rope_table_window"),
                .group = windows.group,
                .window = windows.window};
  g.sharing =
      static_cast<uint32_t>(TRY(b.file().uint_or(b.key("attention.shared_kv_layers"), 0, 0, p.layers - 1)));
  g.per_layer = static_cast<uint32_t>(
      TRY(b.file().uint_or(b.key("embedding_length_per_layer_input"), 0, 0, kMaxWidth)));
  g.has_experts = TRY(has_experts(b));
  if (g.has_experts) {
    g.experts = TRY(read_experts(b, {.renormalize = true}));
    g.experts.act = ActKind::kGeluTanh;
    g.experts.expert_scale = "ffn_down_exps.scale";
  }
  return g;
}

ValueId normed(Builder& b, ValueId x, const Params& g, std::string_view name) {
  return b.rms_norm(x, b.block(name) + ".weight", g.decoder.eps);
}

// Writes the layer's keys and values, and remembers where.
void write_memory(Builder& b, ValueId x, const Params& g, Kind& kind, uint32_t heads) {
  const uint32_t width = heads * kind.dim;
  const ValueId key = b.linear(x, b.block("attn_k"), width);
  ValueId v = b.has(b.block("attn_v.weight")) ? b.linear(x, b.block("attn_v"), width) : key;
  v = b.head_norm(v, "", heads, g.decoder.eps);
  ValueId k = b.head_norm(key, b.block("attn_k_norm.weight"), heads, g.decoder.eps);
  k = b.rope(k, kind.rope, {heads, kind.dim, kind.n_rot, true}, b.block("k_rope"));
  const uint32_t slot = b.add_group_layer(kind.group, {heads, kind.dim, kind.dim});
  b.kv_write(k, v, {kind.group, slot, heads, kind.dim, kind.dim}, b.block("kv_write"));
  kind.slot = static_cast<int32_t>(slot);
}

ValueId attention(Builder& b, ValueId x, Params& g, uint32_t i, bool last) {
  const uint32_t heads = g.decoder.heads[i], kv_heads = g.decoder.kv_heads[i];
  Kind& kind = g.kinds[g.windowed[i] ? 1 : 0];
  if (i + g.sharing < g.decoder.layers) write_memory(b, x, g, kind, kv_heads);
  ValueId q = b.linear(x, b.block("attn_q"), heads * kind.dim);
  q = b.head_norm(q, b.block("attn_q_norm.weight"), heads, g.decoder.eps);
  q = b.rope(q, kind.rope, {heads, kind.dim, kind.n_rot, true}, b.block("q_rope"));
  if (kind.slot < 0) {
    b.fail_with(b.file()
                    .key_error(b.key("attention.shared_kv_layers"),
                               fmt::format("leaves layer {} without keys and values to read", i))
                    .error());
    return x;
  }
  ValueId y = b.attention(q,
                          {.group = kind.group,
                           .layer = static_cast<uint32_t>(kind.slot),
                           .q_heads = heads,
                           .kv_heads = kv_heads,
                           .k_dim = kind.dim,
                           .v_dim = kind.dim,
                           .scale = 1,
                           .window = kind.window},
                          b.block("attention"));
  if (last) y = b.gather_rows(y, b.block("attention_rows"));
  return b.linear(y, b.block("attn_output"), b.width(x));
}

ValueId feed_forward(Builder& b, ValueId x, const Params& g, uint32_t i) {
  ValueId z = gated_ffn(b, normed(b, x, g, "ffn_norm"), g.decoder.ff[i], ActKind::kGeluTanh);
  if (g.has_experts && layer_has_experts(b)) {
    const float root = std::sqrt(static_cast<float>(g.decoder.width));
    ValueId routed = b.rms_norm(x, b.block("ffn_gate_inp.scale"), g.decoder.eps);
    routed = b.scale(routed, 1 / root, b.block("ffn_gate_inp_scale"));
    const ValueId m = expert_ffn(b, normed(b, x, g, "pre_ffw_norm_2"), g.experts, routed);
    z = normed(b, z, g, "post_ffw_norm_1");
    z = b.add(z, normed(b, m, g, "post_ffw_norm_2"), b.block("ffn_both"));
  }
  return normed(b, z, g, "post_ffw_norm");
}

// [T, layers · per_layer]: what each layer adds of the token itself.
ValueId layer_embeddings(Builder& b, ValueId x, const Params& g) {
  const uint32_t width = g.decoder.layers * g.per_layer;
  const auto root = [](uint32_t n) { return std::sqrt(static_cast<float>(n)); };
  ValueId t = b.embed("per_layer_token_embd.weight", g.decoder.vocabulary, width);
  t = b.scale(t, root(g.per_layer), "per_layer_embd_scale");
  ValueId j =
      b.scale(b.linear(x, "per_layer_model_proj", width), 1 / root(g.decoder.width), "per_layer_proj_scale");
  j = b.head_norm(j, "per_layer_proj_norm.weight", g.decoder.layers, g.decoder.eps);
  return b.scale(b.add(t, j, "per_layer_sum"), 1 / root(2), "per_layer_input");
}

Result<> describe_gemma4(Builder& b) {
  Params g = TRY(read_params(b));
  const DecoderParams& p = g.decoder;
  const float cap =
      b.file().has(b.key("final_logit_softcapping")) ? TRY(b.positive("final_logit_softcapping")) : 0;
  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  x = b.scale(x, std::sqrt(static_cast<float>(p.width)), "embd_scale");
  const ValueId inputs = g.per_layer > 0 ? layer_embeddings(b, x, g) : -1;
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers && drops_rows(b);
    const ValueId y =
        normed(b, attention(b, normed(b, x, g, "attn_norm"), g, i, last), g, "post_attention_norm");
    if (last) x = b.gather_rows(x, b.block("rows"));
    x = b.add(x, y, b.block("attn_residual"));
    x = b.add(x, feed_forward(b, x, g, i), b.block("ffn_residual"));
    if (inputs >= 0) {
      ValueId input = b.slice_columns(inputs, i * g.per_layer, g.per_layer, b.block("layer_input"));
      if (last) input = b.gather_rows(input, b.block("layer_input_rows"));
      const ValueId gate = b.linear(x, b.block("inp_gate"), g.per_layer);
      const ValueId mixed = b.act_mul(ActKind::kGeluTanh, gate, input, b.block("layer_input_gated"));
      x = b.add(x, normed(b, b.linear(mixed, b.block("proj"), p.width), g, "post_norm"),
                b.block("input_residual"));
    }
    if (b.has(b.block("layer_output_scale.weight")))
      x = b.scale(x, TRY(b.read_vector(b.block("layer_output_scale.weight"), 1))[0], b.block("output_scale"));
  }
  b.set_layer(-1);
  decoder_output(b, b.rms_norm(x, "output_norm.weight", p.eps), p.vocabulary, {.softcap = cap});
  return {};
}

}  // namespace

extern const Architecture arch_gemma4;
const Architecture arch_gemma4{"gemma4", "Gemma 4 (text)", describe_gemma4};

}  // namespace brass
