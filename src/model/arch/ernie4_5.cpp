// ERNIE 4.5 (dense): the plain decoder, rotated in interleaved pairs, with heads of the file's own width.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_ernie4_5(Builder& b) {
  TRY_VOID(refuse_experts(b));
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p, {.attention = TRY(read_attention(b, p, false))});
  return {};
}

}  // namespace

extern const Architecture arch_ernie4_5;
const Architecture arch_ernie4_5{"ernie4_5", "ERNIE 4.5 (dense)", describe_ernie4_5};

}  // namespace brass
