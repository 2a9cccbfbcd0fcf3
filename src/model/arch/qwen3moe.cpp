// Qwen3 mixtures of experts (30B-A3B, 235B-A22B, Coder): Qwen3's attention; the weights of the selected experts are
// made to sum to 1.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_qwen3moe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  const ExpertParams experts = TRY(read_experts(b, {.renormalize = true, .width = TRY(ff_share(b, p))}));
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  decoder(b, p, {.attention = attention, .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_qwen3moe;
const Architecture arch_qwen3moe{"qwen3moe", "Qwen3 mixtures of experts (30B-A3B, 235B-A22B, Coder)",
                                 describe_qwen3moe};

}  // namespace brass
