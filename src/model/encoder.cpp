#include "model/encoder.h"

#include <cmath>

namespace brass {

Result<AttentionBlock> read_encoder_attention(Builder& b, const DecoderParams& p, bool rotated) {
  AttentionBlock a;
  if (rotated) {
    a = TRY(read_attention(b, p, true));
  } else {
    a = {.k_dim = p.k_dim, .v_dim = p.v_dim, .eps = p.eps};
    a.scale = TRY(b.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(p.k_dim))));
    a.group = b.add_group({.name = "kv", .kind = GroupKind::kKv});
  }
  a.causal = TRY(b.file().bool_or(b.key("attention.causal"), false));
  return a;
}

namespace {

Result<ValueId> input_embedding(Builder& b, const DecoderParams& p, const Encoder& e) {
  constexpr const char* kTypes = "token_types.weight";
  // What the sums begin with comes last, so that they follow it without a break.
  ValueId position = -1, type = -1;
  if (e.positions) position = b.embed_by(EmbedIndex::kPosition, "position_embd.weight", p.context, p.width);
  if (const uint64_t types = b.rows(kTypes); types > 0) {
    if (types > kMaxWidth)
      return b.file().tensor_error(kTypes, fmt::format("has {} rows, expected one a type", types));
    type = b.embed_by(EmbedIndex::kFirst, kTypes, static_cast<uint32_t>(types), p.width);
  }
  ValueId x = b.embed("token_embd.weight", p.vocabulary, p.width);
  if (position >= 0) x = b.add(x, position, "position_sum");
  if (type >= 0) x = b.add(x, type, "type_sum");
  return b.layer_norm(x, "token_embd_norm", p.eps);
}

}  // namespace

Result<> encoder(Builder& b, const DecoderParams& p, const Encoder& e) {
  ValueId x = TRY(input_embedding(b, p, e));
  for (uint32_t i = 0; i < p.layers; i++) {
    b.set_layer(static_cast<int32_t>(i));
    const bool last = i + 1 == p.layers && drops_rows(b);
    AttentionBlock a = e.attention;
    a.heads = p.heads[i];
    a.kv_heads = p.kv_heads[i];
    const ValueId y = attention_block(b, x, a, last);
    if (last) x = b.gather_rows(x, b.block("rows"));
    x = b.layer_norm(b.add(y, x, b.block("attn_residual")), b.block("attn_output_norm"), p.eps);
    const ValueId z = e.ffn(x, i);
    x = b.layer_norm(b.add(z, x, b.block("ffn_residual")), b.block("layer_output_norm"), p.eps);
  }
  b.set_layer(-1);
  embedding_output(b, x);
  return {};
}

}  // namespace brass
