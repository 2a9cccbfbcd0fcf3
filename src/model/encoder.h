// Encoders of the BERT kind, in general form: every token sees the whole text, norms stand behind the sums, and the
// output is embeddings.
#pragma once

#include <functional>

#include "model/blocks.h"

namespace brass {

// Attention of an encoder's file: not causal unless attention.causal says so; rotated by halves, or not at all.
Result<AttentionBlock> read_encoder_attention(Builder& b, const DecoderParams& p, bool rotated);

struct Encoder {
  AttentionBlock attention = {};
  bool positions = false;  // position_embd.weight: a learned row of each position
  std::function<ValueId(ValueId x, uint32_t layer)> ffn = {};
};

// token_embd + position_embd + row 0 of token_types (where the file has it: every token is of the first text),
// token_embd_norm; then in each layer x = attn_output_norm(x + attention(x)), x = layer_output_norm(x + ffn(x)).
Result<> encoder(Builder& b, const DecoderParams& p, const Encoder& e);

}  // namespace brass
