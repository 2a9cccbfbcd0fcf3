// Nemotron-H, Nemotron Nano 2 and 3: layers of one mixer each, Mamba 2, attention without rotation, or a feed-forward
// part with squared ReLU and no gate: dense, or experts selected by sigmoid scores with a bias that counts for the
// selection only, which may work in a narrower space. What a layer is follows from its widths, and from its tensors where
// the widths are 0, as they are in files that have experts and dense feed-forward parts. Blocks that predict
// further tokens (nextn) are left out.
#include <algorithm>
#include <cmath>

#include "model/architecture.h"
#include "model/experts.h"
#include "model/recurrent.h"

namespace brass {
namespace {

ValueId dense_ffn(Builder& b, ValueId x, uint32_t width) {
  if (width == 0)
    width = static_cast<uint32_t>(std::min<uint64_t>(b.rows(b.block("ffn_up.weight")), kMaxWidth));
  return ungated_ffn(b, x, std::max(width, 1u), ActKind::kReluSquared);
}

Result<Mixer> read_ffn(Builder& b, const DecoderParams& p) {
  if (!TRY(has_experts(b)))
    return [&b, &p](ValueId x, uint32_t layer, bool) { return dense_ffn(b, x, p.ff[layer]); };
  ExpertParams experts = TRY(read_experts(b, {.score = RouteScore::kSigmoid}));
  experts.act = ActKind::kReluSquared;
  experts.gated = false;
  experts.latent = static_cast<uint32_t>(TRY(b.file().uint_or(b.key("moe_latent_size"), 0, 0, kMaxWidth)));
  return [&b, &p, experts](ValueId x, uint32_t layer, bool) {
    return layer_has_experts(b) ? expert_ffn(b, x, experts) : dense_ffn(b, x, p.ff[layer]);
  };
}

Result<> describe_nemotron_h(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_attention = true, .no_ffn = true}));
  ignore_nextn(b, p);
  AttentionBlock a{.k_dim = p.k_dim, .v_dim = p.v_dim, .eps = p.eps};
  a.scale = TRY(b.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(p.k_dim))));
  a.group = b.add_group({.name = "kv", .kind = GroupKind::kKv});
  const Mixer attention = attention_mixer(b, p, a), ffn = TRY(read_ffn(b, p)),
              mamba = TRY(read_mamba2(b, p, add_state_group(b)));
  mixer_decoder(b, p, [&](ValueId x, uint32_t layer, bool last) {
    if (p.ff[layer] > 0 || b.has(b.block("ffn_up.weight")) || layer_has_experts(b))
      return ffn(last ? b.gather_rows(x, b.block("norm_rows")) : x, layer, last);
    return p.kv_heads[layer] > 0 ? attention(x, layer, last) : mamba(x, layer, last);
  });
  return {};
}

}  // namespace

extern const Architecture arch_nemotron_h;
const Architecture arch_nemotron_h{"nemotron_h", "Nemotron-H, Nemotron Nano 2", describe_nemotron_h};

}  // namespace brass
