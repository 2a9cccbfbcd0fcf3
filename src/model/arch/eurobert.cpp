// EuroBERT: a plain decoder's blocks (RMS norms, rotation by halves, SwiGLU) whose attention looks both ways, as its
// files say; embeddings are all that it makes.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_eurobert(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p, {.attention = TRY(read_attention(b, p, true))});
  return {};
}

}  // namespace

extern const Architecture arch_eurobert;
const Architecture arch_eurobert{"eurobert", "EuroBERT embeddings", describe_eurobert, true};

}  // namespace brass
