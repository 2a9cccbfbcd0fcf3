// Llama 1 … 3.3, Mistral, SmolLM2 and their many children: pre-norm blocks, grouped attention, SwiGLU.
// q and k rows are stored for interleaved rotation. Biases are read where a file has them.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/rope_scaling.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b));
  const uint32_t n_rot = TRY(b.count_or("rope.dimension_count", p.k_dim, p.k_dim));
  if (n_rot % 2 != 0)
    return b.file().key_error(b.key("rope.dimension_count"),
                              fmt::format("is {}, expected an even number", n_rot));
  const float scale = TRY(b.positive_or("attention.scale", 1.0f / std::sqrt(static_cast<float>(p.k_dim))));
  const ValueId rope = b.rope_table(TRY(read_rope(b, n_rot, 10000.0f)), "rope_table");
  plain_decoder(b, p, {.rope = rope, .n_rot = n_rot, .neox = false, .scale = scale});
  return {};
}

}  // namespace

extern const Architecture arch_llama;
const Architecture arch_llama{"llama", "Llama, Mistral, SmolLM2 and other dense models in Llama form",
                              describe};

}  // namespace brass
