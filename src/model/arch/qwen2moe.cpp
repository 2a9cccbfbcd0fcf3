// Qwen1.5-MoE and Qwen2-57B-A14B: Qwen2's attention; experts weighed by their share of all, beside one that all tokens
// use, behind a gate of its own.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_qwen2moe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  ExpertParams experts = TRY(read_experts(b, {.width = TRY(ff_share(b, p)), .shared_width = p.ff[0]}));
  experts.shared_gate = true;
  decoder(b, p, {.attention = TRY(read_attention(b, p, true)), .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_qwen2moe;
const Architecture arch_qwen2moe{"qwen2moe", "Qwen1.5 and Qwen2 mixtures of experts", describe_qwen2moe};

}  // namespace brass
