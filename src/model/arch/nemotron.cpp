// Nemotron-4 and Minitron: pre-norm blocks with layer norms (stored as 1 + w), a part of each head rotated,
// squared ReLU without a gate.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_nemotron(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p,
          {.attention = TRY(read_attention(b, p, true)),
           .act = ActKind::kReluSquared,
           .gated_ffn = false,
           .norm = NormKind::kLayer});
  return {};
}

}  // namespace

extern const Architecture arch_nemotron;
const Architecture arch_nemotron{"nemotron", "Nemotron-4, Minitron", describe_nemotron};

}  // namespace brass
