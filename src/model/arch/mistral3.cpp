// Ministral 3 and Mistral Small 3 (text): Llama's form; queries grow with their distance from the start where
// the file says so, and yarn leaves the magnitude alone.
#include "model/architecture.h"
#include "model/experts.h"

namespace brass {
namespace {

Result<> describe_mistral3(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  Decoder d{.attention = TRY(read_attention(b, p, false, {.log_multiplier = true}))};
  if (b.file().has(b.key("attention.temperature_scale"))) {
    d.attention.temperature = TRY(b.positive("attention.temperature_scale"));
    d.attention.temperature_length = TRY(b.count("rope.scaling.original_context_length", 1u << 30));
  }
  if (TRY(has_experts(b)))
    d.ffn = experts_or_dense(b, p, TRY(read_experts(b, {.renormalize = true, .width = p.ff[0]})));
  decoder(b, p, d);
  return {};
}

}  // namespace

extern const Architecture arch_mistral3;
const Architecture arch_mistral3{"mistral3", "Ministral 3, Mistral Small 3 (text)", describe_mistral3};

}  // namespace brass
