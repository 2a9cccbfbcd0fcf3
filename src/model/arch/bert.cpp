// BERT and what its files also hold (RoBERTa, XLM-RoBERTa, DistilBERT; BGE, E5, GTE, MiniLM, Arctic Embed …): learned
// positions, biases everywhere, a feed-forward part without a gate. Its GELU is the exact one.
#include "model/architecture.h"
#include "model/encoder.h"

namespace brass {
namespace {

Result<> describe_bert(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  TRY_VOID(refuse_experts(b));
  return encoder(
      b, p,
      {.attention = TRY(read_encoder_attention(b, p, false)),
       .positions = true,
       .ffn = [&](ValueId x, uint32_t i) { return ungated_ffn(b, x, p.ff[i], ActKind::kGeluErf); }});
}

}  // namespace

extern const Architecture arch_bert;
const Architecture arch_bert{"bert", "BERT, RoBERTa, XLM-RoBERTa embeddings", describe_bert, true};

}  // namespace brass
