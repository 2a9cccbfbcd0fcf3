// Qwen2 and Qwen2.5 (Coder included): the plain decoder with biases on q, k and v, and rotation by halves.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"
#include "model/rope_scaling.h"

namespace brass {
namespace {

Result<> describe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  const ValueId rope = b.rope_table(TRY(read_rope(b, p.k_dim, 10000.0f)), "rope_table");
  const float scale = 1.0f / std::sqrt(static_cast<float>(p.k_dim));
  plain_decoder(b, p, {.rope = rope, .n_rot = p.k_dim, .neox = true, .scale = scale});
  return {};
}

}  // namespace

extern const Architecture arch_qwen2;
const Architecture arch_qwen2{"qwen2", "Qwen2, Qwen2.5, Qwen2.5-Coder (dense)", describe};

}  // namespace brass
