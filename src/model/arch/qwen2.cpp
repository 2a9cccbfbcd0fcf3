// Qwen2 and Qwen2.5 (Coder included): the plain decoder with biases on q, k and v, and rotation by halves.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_qwen2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p, {.attention = TRY(read_attention(b, p, true))});
  return {};
}

}  // namespace

extern const Architecture arch_qwen2;
const Architecture arch_qwen2{"qwen2", "Qwen2, Qwen2.5, Qwen2.5-Coder (dense)", describe_qwen2};

}  // namespace brass
