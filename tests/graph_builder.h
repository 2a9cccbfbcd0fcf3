// Small graphs with their own weights, for tests of plans and devices.
#pragma once

#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "graph/graph.h"
#include "quant/random_blocks.h"

namespace brass {

// A graph that keeps the bytes of its weights.
struct OwnedGraph : Graph {
  std::deque<std::vector<std::byte>> bytes;  // [weight]
};

inline std::vector<float> random_floats(size_t n, uint64_t seed, float magnitude = 1.0f) {
  Rng rng(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(rng.normal()) * magnitude;
  return values;
}

class GraphBuilder {
 public:
  GraphBuilder() : graph_(std::make_shared<OwnedGraph>()) { graph_->architecture = "test"; }

  ValueId value(std::string name, Rows rows, uint32_t width) {
    graph_->values.push_back({.name = std::move(name), .rows = rows, .width = width});
    return static_cast<ValueId>(graph_->values.size() - 1);
  }

  // Random values of a root mean square of about `magnitude`.
  WeightId matrix(std::string name, Type type, uint32_t rows, uint32_t cols, float magnitude) {
    std::vector<std::byte> bytes(rows * row_bytes(*find_format(type), cols));
    random_blocks(*find_format(type), bytes.data(), size_t{rows} * cols, 1000 + graph_->weights.size(),
                  magnitude);
    return weight(std::move(name), WeightKind::kMatrix, type, rows, cols, std::move(bytes));
  }
  WeightId matrix(std::string name, uint32_t rows, uint32_t cols, const std::vector<float>& values) {
    return weight(std::move(name), WeightKind::kMatrix, Type::F32, rows, cols, bytes_of(values));
  }
  WeightId vector(std::string name, const std::vector<float>& values) {
    return weight(std::move(name), WeightKind::kVector, Type::F32, 1, static_cast<uint32_t>(values.size()),
                  bytes_of(values));
  }
  WeightId gain(std::string name, uint32_t n) {  // about 1
    std::vector<float> values = random_floats(n, 2000 + graph_->weights.size(), 0.2f);
    for (float& v : values) v += 1.0f;
    return vector(std::move(name), values);
  }
  WeightId weight(std::string name, WeightKind kind, Type type, uint32_t rows, uint32_t cols,
                  std::vector<std::byte> bytes) {
    graph_->bytes.push_back(std::move(bytes));
    graph_->weights.push_back({std::move(name), kind, type, rows, cols, graph_->bytes.back()});
    return static_cast<WeightId>(graph_->weights.size() - 1);
  }

  uint32_t group(MemoryGroup group) {
    graph_->groups.push_back(std::move(group));
    return static_cast<uint32_t>(graph_->groups.size() - 1);
  }

  // One operation with one output; returns it.
  ValueId op(OpKind kind, std::string name, std::vector<ValueId> in, Rows rows, uint32_t width,
             std::vector<WeightId> weights = {}, Attrs attrs = {}, int32_t layer = -1) {
    if (kind == OpKind::kEmbed && std::holds_alternative<std::monostate>(attrs)) attrs = EmbedAttrs{};
    const ValueId out = value(name, rows, width);
    graph_->ops.push_back(
        {kind, layer, std::move(name), std::move(in), {out}, std::move(weights), std::move(attrs)});
    return out;
  }
  void kv_write(std::string name, ValueId k, ValueId v, KvAttrs attrs, int32_t layer = -1) {
    graph_->ops.push_back({OpKind::kKvWrite, layer, std::move(name), {k, v}, {}, {}, attrs});
  }
  // Rows of given values, [n][width]: token id i reads row i.
  ValueId input(std::string name, uint32_t width, const std::vector<float>& values) {
    const WeightId table =
        matrix(name + ".table", static_cast<uint32_t>(values.size() / width), width, values);
    return op(OpKind::kEmbed, std::move(name), {}, Rows::kT, width, {table});
  }

  std::shared_ptr<OwnedGraph> finish(ValueId logits) {
    graph_->logits = logits;
    return std::move(graph_);
  }
  std::shared_ptr<OwnedGraph> finish_embeddings(ValueId embeddings) {
    graph_->embeddings = embeddings;
    return std::move(graph_);
  }
  const Graph& graph() const { return *graph_; }

 private:
  static std::vector<std::byte> bytes_of(const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }

  std::shared_ptr<OwnedGraph> graph_;
};

// A small model of the common kind. Weight types per role, so that tests can mix them.
struct TinyModel {
  uint32_t layers = 2, d = 256, q_heads = 4, kv_heads = 2, head_dim = 64, ffn = 512, vocab = 301;
  Type embed = Type::Q8_0, attention = Type::Q4_K, value = Type::Q6_K, down = Type::Q8_0, head = Type::Q6_K;
  bool bias = false;       // of q, k, v
  bool head_norm = false;  // of q and k
  bool norm_last = false;  // behind their rotation
  bool post_norm = false;  // behind attention and feed-forward
  bool neox = true;
  int32_t window = 0;  // of every other layer, in a group of its own
  float softcap = 0;   // of attention and logits
  bool sinks = false;
  float temperature = 0;  // per `temperature_length` positions
  uint32_t temperature_length = 0;
  bool causal = true;
  std::optional<PoolKind> pool = {};  // embeddings of whole texts in place of logits
  ActKind act = ActKind::kSilu;
  bool tied = false;   // the head reads the embedding
  bool spare = false;  // a tensor that no operation reads
  // Experts of width ffn, beside one that all tokens share, in place of the feed-forward; 0: none.
  uint32_t experts = 0, used = 0;
  bool lone_experts = false;  // without biases of their own, and no expert that all rows use
};

// The kinds that tests go through.
inline TinyModel plain_model() { return {}; }
inline TinyModel qwen_like() { return {.bias = true, .head_norm = true, .tied = true}; }
inline TinyModel gemma_like() {
  return {.layers = 3,
          .kv_heads = 1,
          .head_norm = true,
          .post_norm = true,
          .neox = false,
          .window = 20,
          .softcap = 30,
          .act = ActKind::kGeluTanh};
}
inline TinyModel sink_like() {  // every option of attention
  return {.kv_heads = 1,
          .head_norm = true,
          .norm_last = true,
          .window = 20,
          .softcap = 5,
          .sinks = true,
          .temperature = 0.3f,
          .temperature_length = 6};
}
inline TinyModel encoder_like() {  // sees whole texts, both ways
  return {.kv_heads = 1, .bias = true, .softcap = 5, .sinks = true, .causal = false, .pool = PoolKind::kMean};
}
inline TinyModel small_model() {  // for tests that run it thousands of times
  return {.d = 64,
          .q_heads = 2,
          .kv_heads = 1,
          .head_dim = 32,
          .ffn = 96,
          .vocab = 50,
          .attention = Type::Q8_0,
          .value = Type::Q4_1,
          .down = Type::Q5_0,
          .head = Type::Q8_0,
          .head_norm = true};
}
inline TinyModel ragged_model() {  // no size a multiple of a tile
  return {.d = 96,
          .q_heads = 3,
          .kv_heads = 3,
          .head_dim = 32,
          .ffn = 160,
          .vocab = 77,
          .embed = Type::F16,
          .attention = Type::Q4_0,
          .value = Type::Q5_1,
          .down = Type::F32,
          .head = Type::BF16};
}
// Experts whose rows are no whole panels, and whose slots are no whole cache lines.
inline TinyModel expert_model() {
  TinyModel m = ragged_model();
  m.ffn = 96;
  m.down = Type::Q5_1;
  m.experts = 7;
  m.used = 3;
  return m;
}
inline TinyModel ragged_expert_model() {
  TinyModel m = ragged_model();
  m.ffn = 40;
  m.down = Type::F16;
  m.experts = 5;
  m.used = 2;
  return m;
}

class TinyModelBuilder {
 public:
  explicit TinyModelBuilder(const TinyModel& m) : m_(m) {}

  std::shared_ptr<OwnedGraph> build() {
    add_groups();
    const WeightId table = b_.matrix("token_embd", m_.embed, m_.vocab, m_.d, 1);
    ValueId x = b_.op(OpKind::kEmbed, "embed", {}, Rows::kT, m_.d, {table});
    angles_ = b_.op(OpKind::kRopeTable, "rope_table", {}, Rows::kT, m_.head_dim, {}, angles());
    for (uint32_t l = 0; l < m_.layers; l++) x = feed_forward(l, attention(l, x));
    if (m_.pool) {
      x = norm("output_norm", x, Rows::kT, -1);
      return b_.finish_embeddings(b_.op(OpKind::kPool, "pool", {x}, Rows::kR, m_.d, {}, PoolAttrs{*m_.pool}));
    }
    x = b_.op(OpKind::kGatherRows, "last", {x}, Rows::kR, m_.d);
    x = norm("output_norm", x, Rows::kR, -1);
    const WeightId head = m_.tied ? table : b_.matrix("output", m_.head, m_.vocab, m_.d, 0.06f);
    x = b_.op(OpKind::kLmHead, "output", {x}, Rows::kR, m_.vocab, {head}, LinearAttrs{});
    if (m_.softcap > 0)
      x = b_.op(OpKind::kSoftcap, "softcap", {x}, Rows::kR, m_.vocab, {}, ScaleAttrs{m_.softcap});
    if (m_.spare) b_.matrix("spare", Type::F16, m_.d, m_.d, 1);
    return b_.finish(x);
  }

 private:
  RopeTableAttrs angles() const {
    RopeTableAttrs a;
    for (uint32_t i = 0; i < m_.head_dim / 2; i++)
      a.inv_freq.push_back(
          std::pow(10000.0f, -2.0f * static_cast<float>(i) / static_cast<float>(m_.head_dim)));
    return a;
  }

  bool windowed(uint32_t layer) const { return m_.window > 0 && layer % 2 == 0; }

  void add_groups() {
    MemoryGroup full{.name = "kv", .kind = GroupKind::kKv},
        near{.name = "window", .kind = GroupKind::kWindow, .window = m_.window};
    for (uint32_t l = 0; l < m_.layers; l++)
      (windowed(l) ? near : full).layers.push_back({m_.kv_heads, m_.head_dim, m_.head_dim});
    b_.group(full);
    if (m_.window > 0) b_.group(near);
  }

  std::string blk(uint32_t layer, std::string_view what) const {
    return fmt::format("blk.{}.{}", layer, what);
  }

  ValueId norm(const std::string& name, ValueId x, Rows rows, int32_t layer) {
    return b_.op(OpKind::kRmsNorm, name, {x}, rows, m_.d, {b_.gain(name, m_.d)}, NormAttrs{1e-5f}, layer);
  }

  ValueId linear(uint32_t layer, std::string_view what, ValueId x, Type type, uint32_t rows, uint32_t cols,
                 bool bias) {
    const std::string name = blk(layer, what);
    std::vector<WeightId> weights = {
        b_.matrix(name, type, rows, cols, 1 / std::sqrt(static_cast<float>(cols)))};
    if (bias) weights.push_back(b_.vector(name + ".bias", random_floats(rows, 3000 + weights_++, 0.1f)));
    return b_.op(OpKind::kLinear, name, {x}, Rows::kT, rows, weights, LinearAttrs{bias},
                 static_cast<int32_t>(layer));
  }

  ValueId rotate(uint32_t layer, std::string_view what, ValueId x, uint32_t heads) {
    const auto index = static_cast<int32_t>(layer);
    const uint32_t width = heads * m_.head_dim;
    const auto normed = [&](ValueId v) {
      return b_.op(OpKind::kHeadNorm, blk(layer, fmt::format("{}_norm", what)), {v}, Rows::kT, width,
                   {b_.gain(blk(layer, fmt::format("{}_norm", what)), m_.head_dim)}, NormAttrs{1e-6f, heads},
                   index);
    };
    if (m_.head_norm && !m_.norm_last) x = normed(x);
    x = b_.op(OpKind::kRope, blk(layer, fmt::format("{}_rope", what)), {x, angles_}, Rows::kT, width, {},
              RopeAttrs{heads, m_.head_dim, m_.head_dim, m_.neox}, index);
    return m_.head_norm && m_.norm_last ? normed(x) : x;
  }

  ValueId attention(uint32_t l, ValueId x) {
    const auto index = static_cast<int32_t>(l);
    const uint32_t q_width = m_.q_heads * m_.head_dim, kv_width = m_.kv_heads * m_.head_dim;
    const ValueId h = norm(blk(l, "attn_norm"), x, Rows::kT, index);
    ValueId q = linear(l, "attn_q", h, m_.attention, q_width, m_.d, m_.bias);
    ValueId k = linear(l, "attn_k", h, m_.attention, kv_width, m_.d, m_.bias);
    const ValueId v = linear(l, "attn_v", h, m_.value, kv_width, m_.d, m_.bias);
    q = rotate(l, "q", q, m_.q_heads);
    k = rotate(l, "k", k, m_.kv_heads);
    const uint32_t group = windowed(l) ? 1 : 0;
    const uint32_t in_group = m_.window > 0 ? l / 2 : l;
    b_.kv_write(blk(l, "kv_write"), k, v, {group, in_group, m_.kv_heads, m_.head_dim, m_.head_dim}, index);
    const AttentionAttrs a{.group = group,
                           .layer = in_group,
                           .q_heads = m_.q_heads,
                           .kv_heads = m_.kv_heads,
                           .k_dim = m_.head_dim,
                           .v_dim = m_.head_dim,
                           .scale = 1 / std::sqrt(static_cast<float>(m_.head_dim)),
                           .softcap = m_.softcap,
                           .window = windowed(l) ? m_.window : 0,
                           .causal = m_.causal,
                           .sinks = m_.sinks,
                           .temperature = m_.temperature,
                           .temperature_length = m_.temperature_length};
    std::vector<WeightId> sinks;
    if (m_.sinks) sinks.push_back(b_.vector(blk(l, "attn_sinks"), random_floats(m_.q_heads, 4000 + l, 2.0f)));
    ValueId y = b_.op(OpKind::kAttention, blk(l, "attention"), {q}, Rows::kT, q_width, sinks, a, index);
    y = linear(l, "attn_output", y, m_.attention, m_.d, q_width, false);
    if (m_.post_norm) y = norm(blk(l, "post_attn_norm"), y, Rows::kT, index);
    return b_.op(OpKind::kAdd, blk(l, "attn_residual"), {y, x}, Rows::kT, m_.d, {}, {}, index);
  }

  ValueId expert_linear(uint32_t l, std::string_view what, ValueId x, ValueId route, Type type, uint32_t rows,
                        uint32_t cols, bool own_input) {
    const std::string name = blk(l, what);
    const WeightId w =
        b_.matrix(name, type, m_.experts * rows, cols, 1 / std::sqrt(static_cast<float>(cols)));
    std::vector<WeightId> weights = {w};
    if (!m_.lone_experts)
      weights.push_back(b_.vector(name + ".bias", random_floats(m_.experts * rows, 4000 + weights_++, 0.1f)));
    return b_.op(OpKind::kMoeLinear, name, {x, route}, Rows::kT, m_.used * rows, weights,
                 ExpertAttrs{m_.experts, m_.used, !m_.lone_experts, own_input}, static_cast<int32_t>(l));
  }

  ValueId experts(uint32_t l, ValueId h) {
    const auto index = static_cast<int32_t>(l);
    const ValueId scores = linear(l, "ffn_gate_inp", h, Type::F32, m_.experts, m_.d, true);
    const ValueId route =
        b_.op(OpKind::kMoeRoute, blk(l, "route"), {scores}, Rows::kT, 2 * m_.used, {},
              RouteAttrs{.experts = m_.experts, .used = m_.used, .renormalize = true}, index);
    const ValueId gate = expert_linear(l, "ffn_gate_exps", h, route, m_.attention, m_.ffn, m_.d, false);
    const ValueId up = expert_linear(l, "ffn_up_exps", h, route, m_.value, m_.ffn, m_.d, false);
    const ValueId y = b_.op(OpKind::kActMul, blk(l, "exps_act"), {gate, up}, Rows::kT, m_.used * m_.ffn, {},
                            ActAttrs{m_.act}, index);
    const ValueId slots = expert_linear(l, "ffn_down_exps", y, route, m_.down, m_.d, m_.ffn, true);
    if (m_.lone_experts)
      return b_.op(OpKind::kMoeCombine, blk(l, "combine"), {slots, route}, Rows::kT, m_.d, {},
                   ExpertAttrs{m_.experts, m_.used}, index);
    const ValueId shared_gate = linear(l, "ffn_gate_inp_shexp", h, Type::F32, 1, m_.d, false);
    return b_.op(OpKind::kMoeCombine, blk(l, "combine"), {slots, route, dense(l, h), shared_gate}, Rows::kT,
                 m_.d, {}, ExpertAttrs{m_.experts, m_.used}, index);
  }

  ValueId feed_forward(uint32_t l, ValueId x) {
    const auto index = static_cast<int32_t>(l);
    const ValueId h = norm(blk(l, "ffn_norm"), x, Rows::kT, index);
    ValueId y = m_.experts > 0 ? experts(l, h) : dense(l, h);
    if (m_.post_norm) y = norm(blk(l, "post_ffn_norm"), y, Rows::kT, index);
    return b_.op(OpKind::kAdd, blk(l, "ffn_residual"), {y, x}, Rows::kT, m_.d, {}, {}, index);
  }

  ValueId dense(uint32_t l, ValueId h) {
    const auto index = static_cast<int32_t>(l);
    const ValueId gate = linear(l, "ffn_gate", h, m_.attention, m_.ffn, m_.d, false);
    const ValueId up = linear(l, "ffn_up", h, m_.attention, m_.ffn, m_.d, false);
    const ValueId y =
        b_.op(OpKind::kActMul, blk(l, "ffn_act"), {gate, up}, Rows::kT, m_.ffn, {}, ActAttrs{m_.act}, index);
    return linear(l, "ffn_down", y, m_.down, m_.d, m_.ffn, false);
  }

  TinyModel m_;
  GraphBuilder b_;
  ValueId angles_ = -1;
  uint64_t weights_ = 0;
};

inline std::shared_ptr<OwnedGraph> build_tiny(const TinyModel& model) {
  return TinyModelBuilder(model).build();
}

}  // namespace brass
