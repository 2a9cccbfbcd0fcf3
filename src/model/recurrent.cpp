#include "model/recurrent.h"

namespace brass {

uint32_t add_state_group(Builder& b) { return b.add_group({.name = "state", .kind = GroupKind::kState}); }

Result<std::vector<bool>> read_recurrent_layers(Builder& b, const DecoderParams& p) {
  std::vector<bool> recurrent(p.layers);
  const std::string key = b.key("attention.recurrent_layers");
  if (b.file().has(key)) {
    const std::vector<uint8_t> flags = TRY(b.file().get_bool_array(key));
    const uint32_t blocks = p.layers + p.nextn;
    if (flags.size() != blocks)
      return b.file().key_error(key, fmt::format("has {} values, expected {}", flags.size(), blocks));
    for (uint32_t i = 0; i < p.layers; i++) recurrent[i] = flags[i] != 0;
    return recurrent;
  }
  const uint32_t interval = TRY(b.count_or("full_attention_interval", 4, kMaxLayers));
  for (uint32_t i = 0; i < p.layers; i++) recurrent[i] = (i + 1) % interval != 0;
  return recurrent;
}

std::vector<bool> layers_without_attention(const DecoderParams& p) {
  std::vector<bool> without(p.layers);
  for (uint32_t i = 0; i < p.layers; i++) without[i] = p.kv_heads[i] == 0;
  return without;
}

Mixer attention_mixer(Builder& b, const DecoderParams& p, const AttentionBlock& a) {
  return [&b, &p, a](ValueId x, uint32_t layer, bool last) {
    AttentionBlock own = a;
    own.heads = p.heads[layer];
    own.kv_heads = p.kv_heads[layer];
    return attention_block(b, x, own, last);
  };
}

Mixer either(std::vector<bool> recurrent, Mixer yes, Mixer no) {
  return [recurrent = std::move(recurrent), yes = std::move(yes), no = std::move(no)](
             ValueId x, uint32_t layer, bool last) {
    return recurrent[layer] ? yes(x, layer, last) : no(x, layer, last);
  };
}

namespace {

constexpr uint32_t kMaxHeads = 4096, kMaxDim = 4096, kMaxTaps = 64;
constexpr uint64_t kMaxState = 1u << 28;  // values of a layer

RowSlice span_of(uint32_t first, uint32_t n) { return {.first = first, .run = n, .stride = n}; }

ValueId convolved(Builder& b, ValueId u, const std::string& name, uint32_t taps, uint32_t group, bool silu) {
  const uint32_t layer = b.add_group_state(group, (taps - 1) * b.width(u));
  return b.conv1d(u, name, {.group = group, .layer = layer, .taps = taps, .silu = silu});
}

// Keys of delta net and Mamba 2.
struct SsmKeys {
  uint32_t taps, state, groups, heads, inner;
};
Result<SsmKeys> read_ssm_keys(Builder& b) {
  SsmKeys k{};
  k.taps = TRY(b.count("ssm.conv_kernel", kMaxTaps));
  k.state = TRY(b.count("ssm.state_size", kMaxDim));
  k.groups = TRY(b.count("ssm.group_count", kMaxHeads));
  k.heads = TRY(b.count("ssm.time_step_rank", kMaxHeads));
  k.inner = TRY(b.count("ssm.inner_size", kMaxWidth));
  if (k.heads % k.groups != 0)
    return b.file().key_error(
        b.key("ssm.time_step_rank"),
        fmt::format("is {}, expected a multiple of ssm.group_count {}", k.heads, k.groups));
  if (k.inner % k.heads != 0 || k.inner / k.heads > kMaxDim)
    return b.file().key_error(
        b.key("ssm.inner_size"),
        fmt::format("is {}, expected ssm.time_step_rank {} heads of at most {}", k.inner, k.heads, kMaxDim));
  if (uint64_t{k.inner} * k.state > kMaxState)
    return b.file().key_error(b.key("ssm.state_size"),
                              fmt::format("is {}: a state of {} values in a layer is too much", k.state,
                                          uint64_t{k.inner} * k.state));
  return k;
}

class DeltaLayers {
 public:
  DeltaLayers(Builder& b, const DeltaForm& form, const SsmKeys& k, uint32_t group, float eps)
      : b_(b), form_(form), k_(k), group_(group), eps_(eps) {}

  ValueId add(ValueId x, bool last) const {
    if (b_.has(b_.block("ssm_in.weight"))) {
      b_.fail_with(b_.file()
                       .tensor_error(b_.block("ssm_in.weight"),
                                     "is of an old form, in which q, k, v and z are joined",
                                     "convert the model again: they are attn_qkv and attn_gate now")
                       .error());
      return x;
    }
    const uint32_t qkv = 2 * k_.groups * k_.state + k_.inner, v_dim = k_.inner / k_.heads;
    const ValueId u = b_.linear(x, b_.block("attn_qkv"), qkv);
    const ValueId c = convolved(b_, u, b_.block("ssm_conv1d"), k_.taps, group_, true);
    const ValueId beta = gate(x, "ssm_beta", 0), alpha = gate(x, "ssm_alpha", k_.heads / k_.groups);
    const uint32_t layer = b_.add_group_state(group_, k_.inner * k_.state);
    ValueId o = b_.delta_net(c, beta, alpha, b_.block("ssm_a"), b_.block("ssm_dt.bias"),
                             {.group = group_,
                              .layer = layer,
                              .k_heads = k_.groups,
                              .v_heads = k_.heads,
                              .k_dim = k_.state,
                              .v_dim = v_dim,
                              .tiled = form_.tiled},
                             b_.block("delta_net"));
    ValueId h = x;
    if (last) {
      o = b_.gather_rows(o, b_.block("delta_rows"));
      h = b_.gather_rows(x, b_.block("gate_rows"));
    }
    const ValueId z = b_.linear(h, b_.block("attn_gate"), k_.inner);
    o = b_.head_norm(o, b_.block("ssm_norm.weight"), k_.heads, eps_);
    o = b_.act_mul(ActKind::kSilu, z, o, b_.block("delta_gated"));
    return b_.linear(o, b_.block("ssm_out"), b_.width(x));
  }

 private:
  // `first`: of the rows of a k head in ssm_ba.
  ValueId gate(ValueId x, std::string_view name, uint32_t first) const {
    if (!form_.joined_ba) return b_.linear(x, b_.block(name), k_.heads);
    const uint32_t run = k_.heads / k_.groups;
    return b_.linear_slice(x, b_.block("ssm_ba"), 2 * k_.heads, k_.heads, {first, run, 2 * run},
                           b_.block(name));
  }

  Builder& b_;
  DeltaForm form_;
  SsmKeys k_;
  uint32_t group_;
  float eps_;
};

ValueId mamba2_layer(Builder& b, ValueId x, const SsmKeys& k, uint32_t group, float eps, bool last) {
  const uint32_t xbc = k.inner + 2 * k.groups * k.state, rows = k.inner + xbc + k.heads;
  const auto part = [&](ValueId h, uint32_t first, uint32_t n, std::string_view name) {
    return b.linear_slice(h, b.block("ssm_in"), rows, n, span_of(first, n), b.block(name));
  };
  const ValueId u = part(x, k.inner, xbc, "ssm_xbc"), dt = part(x, k.inner + xbc, k.heads, "ssm_step");
  const ValueId c = convolved(b, u, b.block("ssm_conv1d"), k.taps, group, true);
  const uint32_t layer = b.add_group_state(group, k.inner * k.state);
  ValueId y = b.ssm_scan(c, dt, b.block("ssm_a"), b.block("ssm_d"), b.block("ssm_dt.bias"),
                         {.group = group,
                          .layer = layer,
                          .heads = k.heads,
                          .dim = k.inner / k.heads,
                          .state = k.state,
                          .groups = k.groups},
                         b.block("ssm_scan"));
  ValueId h = x;
  if (last) {
    y = b.gather_rows(y, b.block("ssm_rows"));
    h = b.gather_rows(x, b.block("gate_rows"));
  }
  y = b.act_mul(ActKind::kSilu, part(h, 0, k.inner, "ssm_gate"), y, b.block("ssm_gated"));
  y = b.head_norm(y, b.block("ssm_norm.weight"), k.groups, eps, true);
  return b.linear(y, b.block("ssm_out"), b.width(x));
}

ValueId short_conv_layer(Builder& b, ValueId x, uint32_t taps, uint32_t group, bool last) {
  const uint32_t d = b.width(x);
  const auto part = [&](ValueId h, uint32_t i, std::string_view name) {
    return b.linear_slice(h, b.block("shortconv.in_proj"), 3 * d, d, span_of(i * d, d), b.block(name));
  };
  const ValueId before = part(x, 0, "shortconv_b"), in = part(x, 2, "shortconv_x");
  const ValueId u = b.act_mul(ActKind::kIdentity, before, in, b.block("shortconv_gated"));
  ValueId y = convolved(b, u, b.block("shortconv.conv"), taps, group, false);
  ValueId h = x;
  if (last) {
    y = b.gather_rows(y, b.block("shortconv_rows"));
    h = b.gather_rows(x, b.block("gate_rows"));
  }
  y = b.act_mul(ActKind::kIdentity, part(h, 1, "shortconv_c"), y, b.block("shortconv_out_gated"));
  return b.linear(y, b.block("shortconv.out_proj"), d);
}

}  // namespace

Result<Mixer> read_delta_net(Builder& b, const DecoderParams& p, const DeltaForm& form, uint32_t group) {
  const DeltaLayers layers(b, form, TRY(read_ssm_keys(b)), group, p.eps);
  return [layers](ValueId x, uint32_t, bool last) { return layers.add(x, last); };
}

Result<Mixer> read_mamba2(Builder& b, const DecoderParams& p, uint32_t group) {
  const SsmKeys k = TRY(read_ssm_keys(b));
  return [&b, k, group, eps = p.eps](ValueId x, uint32_t, bool last) {
    return mamba2_layer(b, x, k, group, eps, last);
  };
}

Result<Mixer> read_short_conv(Builder& b, const DecoderParams&, uint32_t group) {
  const uint32_t taps = TRY(b.count("shortconv.l_cache", kMaxTaps));
  return
      [&b, taps, group](ValueId x, uint32_t, bool last) { return short_conv_layer(b, x, taps, group, last); };
}

void mixer_decoder(Builder& b, const DecoderParams& p, const Mixer& mixer) {
  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers && drops_rows(b);
    const ValueId y = mixer(b.rms_norm(x, b.block("attn_norm.weight"), p.eps), i, last);
    if (last) x = b.gather_rows(x, b.block("rows"));
    x = b.add(x, y, b.block("residual"));
  }
  b.set_layer(-1);
  decoder_output(b, b.rms_norm(x, "output_norm.weight", p.eps), p.vocabulary);
}

}  // namespace brass
