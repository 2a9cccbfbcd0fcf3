// Gemma 1: pre-norm blocks with a GELU gate, scaled embeddings, heads whose width is the file's own. The
// file's norm weights are already 1 + w.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_gemma(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p,
          {.attention = TRY(read_attention(b, p, true)),
           .act = ActKind::kGeluTanh,
           .embedding_scale = std::sqrt(static_cast<float>(p.width))});
  return {};
}

}  // namespace

extern const Architecture arch_gemma;
const Architecture arch_gemma{"gemma", "Gemma, CodeGemma", describe_gemma};

}  // namespace brass
