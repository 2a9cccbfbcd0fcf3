// Nomic BERT with experts (nomic-embed-text 2): rotation by halves; the feed-forward part has no gate and is, in every
// second layer, a mixture of experts, whose weights are what softmax over all of them gives, not made to sum to 1.
#include "model/architecture.h"
#include "model/encoder.h"
#include "model/experts.h"

namespace brass {
namespace {

// Which layers have experts is in the tensors; a file whose key says otherwise is another variant.
Result<> check_layers(Builder& b, const DecoderParams& p) {
  const std::string key = b.key("moe_every_n_layers");
  const uint64_t every = TRY(b.file().uint_or(key, 2, 1, kMaxLayers));
  for (uint32_t i = 0; i < p.layers; i++) {
    const bool found = b.has(fmt::format("blk.{}.ffn_gate_inp.weight", i));
    if (found != (i % every == 1))
      return b.file().key_error(
          key, fmt::format("is {}, but layer {} has {}", every, i, found ? "experts" : "no experts"));
  }
  return {};
}

Result<> describe_nomic_bert_moe(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  TRY_VOID(check_layers(b, p));
  ExpertParams experts = TRY(read_experts(b, {.width = p.ff[0]}));
  experts.act = ActKind::kGeluErf;
  experts.gated = false;
  return encoder(b, p,
                 {.attention = TRY(read_encoder_attention(b, p, true)), .ffn = [&](ValueId x, uint32_t i) {
                    return layer_has_experts(b) ? expert_ffn(b, x, experts)
                                                : ungated_ffn(b, x, p.ff[i], ActKind::kGeluErf);
                  }});
}

}  // namespace

extern const Architecture arch_nomic_bert_moe;
const Architecture arch_nomic_bert_moe{"nomic-bert-moe", "nomic-embed-text 2", describe_nomic_bert_moe, true};

}  // namespace brass
