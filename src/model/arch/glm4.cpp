// GLM-4-0414 and GLM-Z1: norms before and after each half of a block, biases on q, k and v, fused gate | up,
// a part of each head rotated in interleaved pairs (by halves in files that carry sections, as those of
// vision models do).
#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

Result<> describe_glm4(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b));
  ignore_nextn(b, p);
  const bool sections = b.file().has(b.key("rope.dimension_sections"));
  decoder(b, p, {.attention = TRY(read_attention(b, p, sections)), .placement = Placement::kBoth});
  return {};
}

}  // namespace

extern const Architecture arch_glm4;
const Architecture arch_glm4{"glm4", "GLM-4-0414, GLM-Z1", describe_glm4};

}  // namespace brass
