// MiniMax M2: norms over the whole width of q and k, rotation of half of each head, experts selected by sigmoid scores
// with a bias that counts for the selection only.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_minimax_m2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_ffn = true}));
  const ExpertParams experts =
      TRY(read_experts(b, {.score = RouteScore::kSigmoid, .renormalize = true, .width = p.ff[0]}));
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kWide;
  decoder(b, p, {.attention = attention, .ffn = experts_or_dense(b, p, experts)});
  return {};
}

}  // namespace

extern const Architecture arch_minimax_m2;
const Architecture arch_minimax_m2{"minimax-m2", "MiniMax M2", describe_minimax_m2};

}  // namespace brass
