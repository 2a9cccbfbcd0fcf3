// Qwen3 (dense): the plain decoder with a norm on each head of q and k, and rotation by halves.
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
  plain_decoder(b, p, {.rope = rope, .n_rot = p.k_dim, .neox = true, .qk_norm = true, .scale = scale});
  return {};
}

}  // namespace

extern const Architecture arch_qwen3;
const Architecture arch_qwen3{"qwen3", "Qwen3 (dense)", describe};

}  // namespace brass
