// Parts that many architectures share, in general form.
#pragma once

#include "model/builder.h"

namespace brass {

// Hyper-parameters that every decoder-only transformer's file has.
struct DecoderParams {
  uint32_t layers, width, context, vocabulary;
  std::vector<uint32_t> heads, kv_heads, ff;  // one a layer
  uint32_t k_dim, v_dim;                      // of a head
  float eps;
};
Result<DecoderParams> read_decoder(Builder& b);

struct AttentionBlock {
  uint32_t heads, kv_heads, k_dim, v_dim;
  float scale;
  float softcap = 0;
  uint32_t group = 0;  // memory group of this layer
  int32_t window = 0;
  ValueId rope = -1;  // table; −1: no rotation
  uint32_t n_rot = 0;
  bool neox = false;
  bool qk_norm = false;  // per head, before the rotation
  float eps = 0;
};

// attn_q, attn_k, attn_v (biases where the file has them), norm, rotation, cache, attention, attn_output.
// `last`: keeps only the rows whose logits are wanted, from the attention's output on.
ValueId attention_block(Builder& b, ValueId x, const AttentionBlock& a, bool last);

// ffn_down · (act(ffn_gate · x) · (ffn_up · x))
ValueId gated_ffn(Builder& b, ValueId x, uint32_t ff, ActKind act);

// The whole of a plain pre-norm decoder, which many families are: x += attention(norm(x)), x +=
// gated_ffn(norm(x)), layer by layer, between the embedding and the head. One memory group that keeps
// everything.
struct PlainDecoder {
  ValueId rope;
  uint32_t n_rot;
  bool neox;
  bool qk_norm = false;
  float scale;  // of the attention's logits
  ActKind act = ActKind::kSilu;
};
void plain_decoder(Builder& b, const DecoderParams& p, const PlainDecoder& d);

// The output matrix, or the embedding where the file ties them.
ValueId output_head(Builder& b, ValueId x, uint32_t vocabulary);

// A mixture of experts in a file of a dense architecture is another variant: refused by name.
Result<> refuse_experts(Builder& b);

}  // namespace brass
