// Ernie 4.5 mixtures of experts (21B-A3B, 300B-A47B): Llama's blocks; experts selected by softmax scores with a bias
// that counts for the selection only, beside a shared one; the first layers are dense.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_ernie4_5_moe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  ExpertParams experts = TRY(read_experts(b, {.renormalize = true}));
  // Files give feed_forward_length ÷ head_count_kv for the width of the shared expert: its tensors know better.
  for (uint32_t i = 0; i < p.layers; i++)
    if (b.rows(fmt::format("blk.{}.ffn_up_shexp.weight", i)) > 0) experts.shared_width = 0;
  decoder(b, p, {.attention = TRY(read_attention(b, p, false)), .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_ernie4_5_moe;
const Architecture arch_ernie4_5_moe{"ernie4_5-moe", "Ernie 4.5 mixtures of experts", describe_ernie4_5_moe};

}  // namespace brass
