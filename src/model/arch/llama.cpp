// Llama 1 … 3.3, Mistral, SmolLM2 and their many children: pre-norm blocks, grouped attention, SwiGLU.
// q and k rows are stored for interleaved rotation. Biases are read where a file has them.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p, {.attention = TRY(read_attention(b, p, false))});
  return {};
}

}  // namespace

extern const Architecture arch_llama;
const Architecture arch_llama{"llama", "Llama, Mistral, SmolLM2 and other dense models in Llama form",
                              describe};

}  // namespace brass
