#include "model/blocks.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace brass {

// ---- hyper-parameters

namespace {

// One number a layer; absent: zeros if that is legal.
Result<std::vector<uint32_t>> read_each(Builder& b, std::string_view name, uint32_t blocks, uint32_t max,
                                        bool zero) {
  if (zero && !b.file().has(b.key(name))) return std::vector<uint32_t>(blocks, 0);
  return b.count_each(name, blocks, max, zero ? 0 : 1);
}

Result<float> read_eps(Builder& b) {
  std::string_view name = "attention.layer_norm_rms_epsilon";
  if (!b.file().has(b.key(name)) && b.file().has(b.key("attention.layer_norm_epsilon")))
    name = "attention.layer_norm_epsilon";
  const float eps = TRY(b.positive(name));
  if (eps > 1) return b.file().key_error(b.key(name), fmt::format("is {}, expected < 1", eps));
  return eps;
}

Result<> read_heads(Builder& b, const DecoderForm& form, uint32_t blocks, DecoderParams& p) {
  constexpr std::string_view kHeads = "attention.head_count", kKvHeads = "attention.head_count_kv";
  p.heads = TRY(read_each(b, kHeads, blocks, 4096, form.no_attention));
  p.kv_heads = p.heads;
  if (b.file().has(b.key(kKvHeads)))
    p.kv_heads = TRY(read_each(b, kKvHeads, blocks, 4096, form.no_attention));
  for (uint32_t i = 0; i < blocks; i++)
    if (p.kv_heads[i] > 0 && p.heads[i] % p.kv_heads[i] != 0)
      return b.file().key_error(b.key(kKvHeads),
                                fmt::format("is {} in layer {}, which does not divide head_count {}",
                                            p.kv_heads[i], i, p.heads[i]));
  const auto first = std::ranges::find_if(p.heads, [](uint32_t n) { return n > 0; });
  const uint32_t heads = first == p.heads.end() ? 0 : *first;
  if (heads > 0 && !b.file().has(b.key("attention.key_length")) && p.width % heads != 0)
    return b.file().key_error(
        b.key(kHeads), fmt::format("is {}, which does not divide embedding_length {}", heads, p.width));
  const uint32_t default_dim = heads == 0 ? 1 : std::max(p.width / heads, 1u);
  p.k_dim = TRY(b.count_or("attention.key_length", default_dim, 4096));
  p.v_dim = TRY(b.count_or("attention.value_length", default_dim, 4096));
  return {};
}

}  // namespace

Result<DecoderParams> read_decoder(Builder& b, const DecoderForm& form) {
  DecoderParams p;
  const uint32_t blocks = TRY(b.count("block_count", kMaxLayers));
  p.nextn = static_cast<uint32_t>(TRY(b.file().uint_or(b.key("nextn_predict_layers"), 0, 0, blocks - 1)));
  p.layers = blocks - p.nextn;
  p.width = TRY(b.count("embedding_length", kMaxWidth));
  p.context = TRY(b.count("context_length", 1u << 30));
  TRY_VOID(read_heads(b, form, blocks, p));
  p.ff = TRY(read_each(b, "feed_forward_length", blocks, 1u << 22, form.no_ffn));
  p.eps = TRY(read_eps(b));
  const uint64_t tokens = b.rows("token_embd.weight");
  if (tokens == 0) return b.file().tensor_error("token_embd.weight", "is missing");
  if (tokens > (1u << 24))
    return b.file().tensor_error("token_embd.weight",
                                 fmt::format("has {} rows, expected one a token", tokens));
  p.vocabulary = static_cast<uint32_t>(tokens);
  return p;
}

void ignore_nextn(Builder& b, const DecoderParams& p) {
  constexpr std::string_view kPrefix = "blk.";
  for (const gguf::TensorInfo& t : b.file().tensors()) {
    if (!t.name.starts_with(kPrefix)) continue;
    uint32_t block = 0;
    std::from_chars(t.name.data() + kPrefix.size(), t.name.data() + t.name.size(), block);
    if (block >= p.layers && block < p.layers + p.nextn) b.ignore(t.name);
  }
}

Result<> refuse_experts(Builder& b) {
  const uint64_t experts = TRY(b.file().uint_or(b.key("expert_count"), 0));
  if (experts > 0)
    return b.file().key_error(
        b.key("expert_count"),
        fmt::format("is {}: mixtures of experts of this architecture are not supported", experts));
  return {};
}

// ---- norms

ValueId norm(Builder& b, ValueId x, NormKind kind, const std::string& name, float eps) {
  return kind == NormKind::kRms ? b.rms_norm(x, name + ".weight", eps) : b.layer_norm(x, name, eps);
}

// ---- attention

Result<AttentionBlock> read_attention(Builder& b, const DecoderParams& p, bool neox, const RopeForm& rope) {
  AttentionBlock a{.k_dim = p.k_dim, .v_dim = p.v_dim, .neox = neox, .eps = p.eps};
  a.scale = TRY(b.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(p.k_dim))));
  a.causal = TRY(b.file().bool_or(b.key("attention.causal"), true));
  a.n_rot = TRY(read_rotated(b, p.k_dim));
  a.rope = b.rope_table(TRY(read_rope(b, a.n_rot, rope)), "rope_table");
  a.group = b.add_group({.name = "kv", .kind = GroupKind::kKv});
  return a;
}

namespace {

Result<std::vector<bool>> read_pattern(Builder& b, const DecoderParams& p, uint32_t period) {
  std::vector<bool> windowed(p.layers);
  const std::string key = b.key("attention.sliding_window_pattern");
  const gguf::Value* given = b.file().find_key(key);
  if (given != nullptr && given->type == gguf::MetaType::Array) {
    const std::vector<uint8_t> flags = TRY(b.file().get_bool_array(key));
    if (flags.size() != p.layers && flags.size() != p.layers + p.nextn)
      return b.file().key_error(key, fmt::format("has {} values, expected {}", flags.size(), p.layers));
    for (uint32_t i = 0; i < p.layers; i++) windowed[i] = flags[i] != 0;
    return windowed;
  }
  const uint64_t given_period = TRY(b.file().uint_or(key, period, 1, 1024));
  for (uint32_t i = 0; i < p.layers; i++) windowed[i] = (i + 1) % given_period != 0;
  return windowed;
}

}  // namespace

Result<Windows> read_windows(Builder& b, const DecoderParams& p, uint32_t period, uint32_t usual) {
  Windows w;
  w.window =
      static_cast<int32_t>(TRY(b.file().uint_or(b.key("attention.sliding_window"), usual, 0, 1u << 30)));
  if (w.window == 0) return w;
  w.windowed = TRY(read_pattern(b, p, period));
  w.group = b.add_group({.name = "window", .kind = GroupKind::kWindow, .window = w.window});
  return w;
}

bool Windows::apply(AttentionBlock& a, uint32_t layer) const {
  if (window == 0 || !windowed[layer]) return false;
  a.group = group;
  a.window = window;
  return true;
}

namespace {

struct Qkv {
  ValueId q, k, v, gate = -1;
};

// `n` rows from `first` on.
RowSlice span_of(uint32_t first, uint32_t n) { return {.first = first, .run = n, .stride = n}; }

Qkv project(Builder& b, ValueId x, const AttentionBlock& a, bool last) {
  const uint32_t q = a.heads * a.k_dim, k = a.kv_heads * a.k_dim, v = a.kv_heads * a.v_dim;
  if (!a.gated && b.has(b.block("attn_qkv.weight"))) {
    const auto part = [&](uint32_t first, uint32_t n, std::string_view name) {
      return b.linear_slice(x, b.block("attn_qkv"), q + k + v, n, span_of(first, n), b.block(name));
    };
    return {.q = part(0, q, "attn_q"), .k = part(q, k, "attn_k"), .v = part(q + k, v, "attn_v")};
  }
  Qkv out{};
  if (a.gated) {
    const RowSlice queries{.first = 0, .run = a.k_dim, .stride = 2 * a.k_dim};
    const RowSlice gates{.first = a.k_dim, .run = a.k_dim, .stride = 2 * a.k_dim};
    out.q = b.linear_slice(x, b.block("attn_q"), 2 * q, q, queries, b.block("attn_q"));
    const ValueId y = last ? b.gather_rows(x, b.block("gate_rows")) : x;
    out.gate = b.linear_slice(y, b.block("attn_q"), 2 * q, q, gates, b.block("attn_gate"));
  } else {
    out.q = b.linear(x, b.block("attn_q"), q);
  }
  out.k = b.linear(x, b.block("attn_k"), k);
  out.v = b.linear(x, b.block("attn_v"), v);
  return out;
}

ValueId normalized(Builder& b, ValueId x, const AttentionBlock& a, uint32_t heads, const std::string& name) {
  switch (a.qk_norm) {
    case QkNorm::kNone:
      return x;
    case QkNorm::kHead:
      return b.head_norm(x, name + ".weight", heads, a.eps);
    case QkNorm::kWide:
      return b.rms_norm(x, name + ".weight", a.eps);
    case QkNorm::kLayer:
      return b.layer_norm(x, name, a.eps, heads);
  }
  return x;
}

// Norm and rotation, in the block's order.
ValueId prepared(Builder& b, ValueId x, const AttentionBlock& a, uint32_t heads, char letter) {
  const std::string name = b.block(fmt::format("attn_{}_norm", letter));
  if (!a.norm_after_rope) x = normalized(b, x, a, heads, name);
  if (a.rope >= 0)
    x = b.rope(x, a.rope, {heads, a.k_dim, a.n_rot, a.neox}, b.block(fmt::format("{}_rope", letter)));
  return a.norm_after_rope ? normalized(b, x, a, heads, name) : x;
}

}  // namespace

ValueId attention_block(Builder& b, ValueId x, const AttentionBlock& a, bool last) {
  Qkv h = project(b, x, a, last);
  h.q = prepared(b, h.q, a, a.heads, 'q');
  h.k = prepared(b, h.k, a, a.kv_heads, 'k');
  const uint32_t slot = b.add_group_layer(a.group, {a.kv_heads, a.k_dim, a.v_dim});
  b.kv_write(h.k, h.v, {a.group, slot, a.kv_heads, a.k_dim, a.v_dim}, b.block("kv_write"));
  ValueId y = b.attention(h.q,
                          {.group = a.group,
                           .layer = slot,
                           .q_heads = a.heads,
                           .kv_heads = a.kv_heads,
                           .k_dim = a.k_dim,
                           .v_dim = a.v_dim,
                           .scale = a.scale,
                           .softcap = a.softcap,
                           .window = a.window,
                           .causal = a.causal,
                           .temperature = a.temperature,
                           .temperature_length = a.temperature_length},
                          b.block("attention"), a.sinks ? b.block("attn_sinks.weight") : "");
  if (last) y = b.gather_rows(y, b.block("attention_rows"));
  if (a.gated) y = b.act_mul(ActKind::kSigmoid, h.gate, y, b.block("attention_gated"));
  return b.linear(y, b.block("attn_output"), b.width(x));
}

// ---- feed-forward

ValueId gated_ffn(Builder& b, ValueId x, uint32_t ff, ActKind act) {
  ValueId gate = -1, up = -1;
  const bool fused = b.rows(b.block("ffn_up.weight")) == 2 * uint64_t{ff};
  if (fused && !b.has(b.block("ffn_gate.weight"))) {
    gate = b.linear_slice(x, b.block("ffn_up"), 2 * ff, ff, span_of(0, ff), b.block("ffn_gate"));
    up = b.linear_slice(x, b.block("ffn_up"), 2 * ff, ff, span_of(ff, ff), b.block("ffn_up"));
  } else {
    gate = b.linear(x, b.block("ffn_gate"), ff);
    up = b.linear(x, b.block("ffn_up"), ff);
  }
  return b.linear(b.act_mul(act, gate, up, b.block("ffn_act")), b.block("ffn_down"), b.width(x));
}

ValueId ungated_ffn(Builder& b, ValueId x, uint32_t ff, ActKind act) {
  const ValueId up = b.linear(x, b.block("ffn_up"), ff);
  return b.linear(b.act(act, up, b.block("ffn_act")), b.block("ffn_down"), b.width(x));
}

// ---- the whole

namespace {

// One layer of a Decoder in the making.
class Layer {
 public:
  Layer(Builder& b, const DecoderParams& p, const Decoder& d) : b_(b), p_(p), d_(d) {}

  ValueId add(ValueId x, uint32_t i, bool last) {
    const bool pre = d_.placement != Placement::kPost;
    const bool post = d_.placement == Placement::kPost || d_.placement == Placement::kBoth;
    ValueId h = pre ? normed(x, d_.attn_norm) : x;
    ValueId y = mixed(h, i, last);
    if (last) x = b_.gather_rows(x, b_.block("rows"));
    if (d_.placement == Placement::kParallel) {
      if (d_.ffn_norm != d_.attn_norm)
        h = normed(x, d_.ffn_norm);
      else if (last)
        h = b_.gather_rows(h, b_.block("norm_rows"));
      x = sum(x, y, "attn_residual");
      return sum(x, forward(h, i), "ffn_residual");
    }
    if (post) y = normed(y, "post_attention_norm");
    x = sum(x, y, "attn_residual");
    ValueId z = forward(pre ? normed(x, d_.ffn_norm) : x, i);
    if (post) z = normed(z, "post_ffw_norm");
    return sum(x, z, "ffn_residual");
  }

 private:
  ValueId normed(ValueId x, std::string_view name) { return norm(b_, x, d_.norm, b_.block(name), p_.eps); }

  ValueId sum(ValueId x, ValueId y, std::string_view name) {
    if (d_.residual_scale != 1) y = b_.scale(y, d_.residual_scale, b_.block(std::string(name) + "_scale"));
    return b_.add(x, y, b_.block(name));
  }

  ValueId mixed(ValueId x, uint32_t i, bool last) {
    if (d_.mixer) return d_.mixer(x, i, last);
    AttentionBlock a = d_.attention;
    a.heads = p_.heads[i];
    a.kv_heads = p_.kv_heads[i];
    if (d_.vary) d_.vary(a, i);
    return attention_block(b_, x, a, last);
  }

  ValueId forward(ValueId x, uint32_t i) {
    if (d_.ffn) return d_.ffn(x, i);
    return d_.gated_ffn ? gated_ffn(b_, x, p_.ff[i], d_.act) : ungated_ffn(b_, x, p_.ff[i], d_.act);
  }

  Builder& b_;
  const DecoderParams& p_;
  const Decoder& d_;
};

}  // namespace

ValueId decoder_layer(Builder& b, const DecoderParams& p, const Decoder& d, ValueId x, uint32_t layer,
                      bool last) {
  b.set_layer(static_cast<int32_t>(layer));
  x = Layer(b, p, d).add(x, layer, last);
  b.set_layer(-1);
  return x;
}

void decoder(Builder& b, const DecoderParams& p, const Decoder& d) {
  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  if (d.embedding_scale != 1) x = b.scale(x, d.embedding_scale, "embd_scale");
  for (uint32_t i = 0; i < p.layers; i++)
    x = decoder_layer(b, p, d, x, i, i + 1 == p.layers && drops_rows(b));
  decoder_output(b, norm(b, x, d.norm, std::string(d.output_norm), p.eps), p.vocabulary,
                 {.scale = d.logit_scale, .softcap = d.logit_softcap});
}

// ---- the end

bool drops_rows(const Builder& b) {
  const OutputSpec& o = b.output();
  if (o.draft) return false;
  return !o.embeddings || o.pooling == Pooling::kNone || o.pooling == Pooling::kLast;
}

void embedding_output(Builder& b, ValueId x) {
  if (!drops_rows(b))
    x = b.pool(b.output().pooling == Pooling::kMean ? PoolKind::kMean : PoolKind::kFirst, x, "pool");
  if (b.output().normalize) {
    // Length 1 is a root mean square of 1/√d; eps keeps a row of zeros what it is, and no other row notices it.
    x = b.plain_rms_norm(x, 1e-24f, "unit_norm");
    x = b.scale(x, 1.0f / std::sqrt(static_cast<float>(b.width(x))), "unit_scale");
  }
  b.embeddings = x;
}

void decoder_output(Builder& b, ValueId x, uint32_t vocabulary, const LogitForm& form) {
  if (b.output().embeddings) {
    for (const char* head : {"output.weight", "output.bias"}) b.ignore(head);
    embedding_output(b, x);
    return;
  }
  if (b.output().draft) {
    b.hidden = x;
    x = b.gather_rows(x, "output_rows");
  }
  b.logits = b.lm_head(x, b.has("output.weight") ? "output.weight" : "token_embd.weight", vocabulary);
  if (form.scale != 1) b.logits = b.scale(b.logits, form.scale, "logit_scale");
  if (form.softcap > 0) b.logits = b.softcap(b.logits, form.softcap, "logit_softcap");
}

}  // namespace brass
