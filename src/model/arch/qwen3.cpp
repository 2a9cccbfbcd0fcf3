// Qwen3 (dense): the plain decoder with a norm on each head of q and k, and rotation by halves.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_qwen3(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  decoder(b, p, {.attention = attention});
  return {};
}

}  // namespace

extern const Architecture arch_qwen3;
const Architecture arch_qwen3{"qwen3", "Qwen3 (dense)", describe_qwen3};

}  // namespace brass
