// DeepSeek V2, V3, R1, Kimi K2: attention over a latent vector that all heads share (MLA, DeepSeek-AI 2024), in the
// absorbed form that the file's tensors are made for: the query goes into the latent space, the cache holds the latent
// and one rotated key. Mixture of experts behind the leading dense layers.
#include <cmath>

#include "model/architecture.h"
#include "model/draft.h"
#include "model/experts.h"

namespace brass {
namespace {

struct Latent {
  uint32_t q_rank = 0, kv_rank;  // q_rank 0: the query is not compressed
  uint32_t k_dim, v_dim, n_rot;  // of a head; k_dim counts its rotated part
  float scale;                   // of the logits
  ValueId rope;
  uint32_t group;
  float temperature;
  uint32_t temperature_length;
};

// 1/√k_dim, and yarn's magnitude twice: it is on q and on k, whose parts that do not turn have it too.
Result<float> logit_scale(Builder& b, uint32_t k_dim) {
  const double factor = TRY(b.file().float_or(b.key("rope.scaling.factor"), 1));
  const double multiplier = TRY(b.file().float_or(b.key("rope.scaling.yarn_log_multiplier"), 0));
  const double magnitude = factor > 1 ? 1 + multiplier * std::log(factor) : 1;
  return static_cast<float>(magnitude * magnitude / std::sqrt(static_cast<double>(k_dim)));
}

Result<Latent> read_latent(Builder& b) {
  Latent m{};
  if (b.file().has(b.key("attention.q_lora_rank")))
    m.q_rank = TRY(b.count("attention.q_lora_rank", kMaxWidth));
  m.kv_rank = TRY(b.count("attention.kv_lora_rank", 4096));
  if (!b.has("blk.0.attn_k_b.weight"))
    return b.file().tensor_error("blk.0.attn_k_b.weight",
                                 "is missing: the file is of an old form without latent keys",
                                 "convert the model again");
  m.k_dim = TRY(b.count("attention.key_length_mla", 4096));
  m.v_dim = TRY(b.count("attention.value_length_mla", 4096));
  m.n_rot = TRY(b.count("rope.dimension_count", 4096));
  if (m.n_rot >= m.k_dim)
    return b.file().key_error(b.key("rope.dimension_count"),
                              fmt::format("is {} of {} dimensions of a key", m.n_rot, m.k_dim));
  m.scale = TRY(logit_scale(b, m.k_dim));
  m.rope = b.rope_table(TRY(read_rope(b, m.n_rot, {.log_multiplier = true})), "rope_table");
  m.group = b.add_group({.name = "latent", .kind = GroupKind::kKv});
  m.temperature = static_cast<float>(TRY(b.file().float_or(b.key("attention.temperature_scale"), 0)));
  m.temperature_length = TRY(b.count_or("attention.temperature_length", 1, 1u << 30));
  return m;
}

// The part of the query that does not turn, or the part that does.
ValueId query_part(Builder& b, ValueId x, const Latent& m, uint32_t heads, bool turned) {
  const std::string from = b.block(m.q_rank > 0 ? "attn_q_b" : "attn_q");
  const uint32_t plain = m.k_dim - m.n_rot, run = turned ? m.n_rot : plain;
  return b.linear_slice(x, from, heads * m.k_dim, heads * run,
                        {.first = turned ? plain : 0, .run = run, .stride = m.k_dim},
                        b.block(turned ? "attn_q_turned" : "attn_q_plain"));
}

ValueId latent_attention(Builder& b, ValueId x, const Latent& m, uint32_t heads, float eps, bool last) {
  ValueId compressed = x;
  if (m.q_rank > 0)
    compressed = b.rms_norm(b.linear(x, b.block("attn_q_a"), m.q_rank), b.block("attn_q_a_norm.weight"), eps);
  const ValueId plain = query_part(b, compressed, m, heads, false);
  ValueId turned = query_part(b, compressed, m, heads, true);
  turned = b.rope(turned, m.rope, {heads, m.n_rot, m.n_rot, false}, b.block("q_rope"));
  const ValueId q = b.concat(b.head_linear(plain, b.block("attn_k_b"), heads, m.kv_rank), turned, heads,
                             b.block("attn_q_latent"));

  const uint32_t both = m.kv_rank + m.n_rot;
  const auto part = [&](uint32_t first, uint32_t n, std::string_view name) {
    return b.linear_slice(x, b.block("attn_kv_a_mqa"), both, n, {.first = first, .run = n, .stride = n},
                          b.block(name));
  };
  const ValueId latent =
      b.rms_norm(part(0, m.kv_rank, "attn_kv_latent"), b.block("attn_kv_a_norm.weight"), eps);
  const ValueId key = b.rope(part(m.kv_rank, m.n_rot, "attn_k_turned"), m.rope, {1, m.n_rot, m.n_rot, false},
                             b.block("k_rope"));
  const uint32_t slot = b.add_group_layer(m.group, {1, both, m.kv_rank});
  b.kv_write(b.concat(latent, key, 1, b.block("attn_k_latent")), latent, {m.group, slot, 1, both, m.kv_rank},
             b.block("kv_write"));
  ValueId y = b.attention(q,
                          {.group = m.group,
                           .layer = slot,
                           .q_heads = heads,
                           .kv_heads = 1,
                           .k_dim = both,
                           .v_dim = m.kv_rank,
                           .scale = m.scale,
                           .temperature = m.temperature,
                           .temperature_length = m.temperature_length},
                          b.block("attention"));
  if (last) y = b.gather_rows(y, b.block("attention_rows"));
  return b.linear(b.head_linear(y, b.block("attn_v_b"), heads, m.v_dim), b.block("attn_output"), b.width(x));
}

// Of a file that does not say it: the bias on the selection came with V3, and so did its sigmoid scores.
RouteScore usual_score(const Builder& b, uint32_t layers) {
  for (uint32_t i = 0; i < layers; i++)
    if (b.has(fmt::format("blk.{}.exp_probs_b.bias", i))) return RouteScore::kSigmoid;
  return RouteScore::kSoftmax;
}

Result<> describe_deepseek2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  ExpertParams experts = TRY(read_experts(b, {.score = usual_score(b, p.layers)}));
  // V2 takes the best expert of a group, V3 the best two.
  if (experts.route.score == RouteScore::kSoftmax) experts.route.group_score = GroupScore::kMax;
  const auto layer = [&]() -> Result<Decoder> {
    const Latent m = TRY(read_latent(b));
    const auto mixer = [&b, &p, m](ValueId x, uint32_t i, bool last) {
      return latent_attention(b, x, m, p.heads[i], p.eps, last);
    };
    return Decoder{.mixer = mixer, .ffn = experts_or_dense(b, p, experts)};
  };
  decoder(b, p, TRY(layer()));
  return describe_drafts(b, p, layer);
}

}  // namespace

extern const Architecture arch_deepseek2;
const Architecture arch_deepseek2{"deepseek2", "DeepSeek V2, V3, R1, Kimi K2", describe_deepseek2};

}  // namespace brass
