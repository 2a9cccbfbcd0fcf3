// Gemma 3 (text): norms before and after each half of a block, five sliding-window layers to one full layer,
// two rotation bases, per-head q/k norms, scaled embeddings. The file's norm weights are already 1 + w.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/rope_scaling.h"

namespace brass {
namespace {

// Which layers keep a window only: every one but each sixth, unless the file says otherwise.
Result<std::vector<bool>> read_windowed(Builder& b, uint32_t layers) {
  std::vector<bool> windowed(layers);
  const std::string key = b.key("attention.sliding_window_pattern");
  const gguf::Value* given = b.file().find_key(key);
  if (given != nullptr && given->type == gguf::MetaType::Array) {
    const std::vector<uint8_t> flags = TRY(b.file().get_bool_array(key));
    if (flags.size() != layers)
      return b.file().key_error(key, fmt::format("has {} values, expected {}", flags.size(), layers));
    for (uint32_t i = 0; i < layers; i++) windowed[i] = flags[i] != 0;
    return windowed;
  }
  const uint64_t period = TRY(b.file().uint_or(key, 6, 1, 1024));
  for (uint32_t i = 0; i < layers; i++) windowed[i] = (i + 1) % period != 0;
  return windowed;
}

// The 27B model (62 layers) divides by its width per head; the others by the head's own width.
float attention_scale(const DecoderParams& p) {
  const uint32_t divisor = p.layers == 62 ? p.width / p.heads[0] : p.k_dim;
  return 1.0f / std::sqrt(static_cast<float>(divisor));
}

Result<> describe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  const std::vector<bool> windowed = TRY(read_windowed(b, p.layers));
  const auto window = static_cast<int32_t>(TRY(b.count("attention.sliding_window", 1u << 30)));
  const float scale = TRY(b.positive_or("attention.scale", attention_scale(p)));
  const float local_base = TRY(b.positive_or("rope.freq_base_swa", 10000.0f));
  const float final_cap =
      b.file().has(b.key("final_logit_softcapping")) ? TRY(b.positive("final_logit_softcapping")) : 0;
  const ValueId full_rope = b.rope_table(TRY(read_rope(b, p.k_dim, 1000000.0f)), "rope_table");
  const ValueId local_rope = b.rope_table(plain_rope(p.k_dim, local_base), "rope_table_local");
  const uint32_t full = b.add_group({.name = "kv", .kind = GroupKind::kKv});
  const uint32_t local = b.add_group({.name = "window", .kind = GroupKind::kWindow, .window = window});

  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  x = b.scale(x, std::sqrt(static_cast<float>(p.width)), "embd_scale");
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers;
    const AttentionBlock attention{.heads = p.heads[i],
                                   .kv_heads = p.kv_heads[i],
                                   .k_dim = p.k_dim,
                                   .v_dim = p.v_dim,
                                   .scale = scale,
                                   .group = windowed[i] ? local : full,
                                   .window = windowed[i] ? window : 0,
                                   .rope = windowed[i] ? local_rope : full_rope,
                                   .n_rot = p.k_dim,
                                   .neox = true,
                                   .qk_norm = true,
                                   .eps = p.eps};
    ValueId y = attention_block(b, b.rms_norm(x, b.block("attn_norm.weight"), p.eps), attention, last);
    if (last) x = b.gather_rows(x, b.block("rows"));
    y = b.rms_norm(y, b.block("post_attention_norm.weight"), p.eps);
    x = b.add(x, y, b.block("attn_residual"));
    ValueId z = gated_ffn(b, b.rms_norm(x, b.block("ffn_norm.weight"), p.eps), p.ff[i], ActKind::kGeluTanh);
    z = b.rms_norm(z, b.block("post_ffw_norm.weight"), p.eps);
    x = b.add(x, z, b.block("ffn_residual"));
  }
  b.set_layer(-1);
  b.logits = output_head(b, b.rms_norm(x, "output_norm.weight", p.eps), p.vocabulary);
  if (final_cap > 0) b.logits = b.softcap(b.logits, final_cap, "logit_softcap");
  return {};
}

}  // namespace

extern const Architecture arch_gemma3;
const Architecture arch_gemma3{"gemma3", "Gemma 3 (text)", describe};

}  // namespace brass
