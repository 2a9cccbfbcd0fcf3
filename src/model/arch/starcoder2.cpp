// StarCoder2: pre-norm blocks with layer norms, biases everywhere, and a feed-forward part without a gate.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_starcoder2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p,
          {.attention = TRY(read_attention(b, p, true)),
           .act = ActKind::kGeluTanh,
           .gated_ffn = false,
           .norm = NormKind::kLayer});
  return {};
}

}  // namespace

extern const Architecture arch_starcoder2;
const Architecture arch_starcoder2{"starcoder2", "StarCoder2", describe_starcoder2};

}  // namespace brass
