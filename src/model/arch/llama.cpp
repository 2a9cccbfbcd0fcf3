// Llama 1 … 3.3, Mistral, Mixtral, SmolLM2 and their many children: pre-norm blocks, grouped attention, SwiGLU.
// q and k rows are stored for interleaved rotation. Biases are read where a file has them. Experts, where the file has
// them, have weights that sum to 1.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_llama(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, false))};
  if (TRY(has_experts(b)))
    d.ffn = experts_or_dense(b, p, TRY(read_experts(b, {.renormalize = true, .width = p.ff[0]})));
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_llama;
const Architecture arch_llama{"llama", "Llama, Mistral, Mixtral, SmolLM2 and others in Llama form",
                              describe_llama};

}  // namespace brass
