// Seed-OSS: the plain decoder with biases on q, k and v. The norm before the feed-forward part has the name
// that other families give to the one behind the attention.
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_seed_oss(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  decoder(b, p, {.attention = TRY(read_attention(b, p, true)), .ffn_norm = "post_attention_norm"});
  return {};
}

}  // namespace

extern const Architecture arch_seed_oss;
const Architecture arch_seed_oss{"seed_oss", "Seed-OSS", describe_seed_oss};

}  // namespace brass
