// Nomic BERT (nomic-embed-text 1 and 1.5): rotation by halves in place of learned positions, SwiGLU, few biases.
#include "model/architecture.h"
#include "model/encoder.h"

namespace brass {
namespace {

Result<> describe_nomic_bert(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  TRY_VOID(refuse_experts(b));
  return encoder(b, p,
                 {.attention = TRY(read_encoder_attention(b, p, true)),
                  .ffn = [&](ValueId x, uint32_t i) { return gated_ffn(b, x, p.ff[i], ActKind::kSilu); }});
}

}  // namespace

extern const Architecture arch_nomic_bert;
const Architecture arch_nomic_bert{"nomic-bert", "nomic-embed-text 1, 1.5", describe_nomic_bert, true};

}  // namespace brass
