// SmolLM3: Llama's form, with no rotation in each fourth layer (the file does not say so).
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

constexpr uint32_t kPlainEvery = 4;

Result<> describe_smollm3(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, false))};
  d.vary = [](AttentionBlock& a, uint32_t layer) {
    if ((layer + 1) % kPlainEvery == 0) a.rope = -1;
  };
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_smollm3;
const Architecture arch_smollm3{"smollm3", "SmolLM3", describe_smollm3};

}  // namespace brass
