// Hunyuan (dense, 0.5B to 7B): Qwen3's form, but heads are normed after their rotation.
#include <cmath>

#include "model/architecture.h"
#include "model/blocks.h"

namespace brass {
namespace {

// A file of one expert is dense.
Result<> refuse_more_experts(Builder& b) {
  return TRY(b.file().uint_or(b.key("expert_count"), 0)) == 1 ? Result<>{} : refuse_experts(b);
}

// Files that stretch the context by NTK's alpha have it in the base already; those that give it as a key do
// not.
Result<> refuse_alpha(Builder& b) {
  const std::string key = b.key("rope.scaling.alpha");
  if (const double alpha = TRY(b.file().float_or(key, 0.0)); alpha != 0 && alpha != 1)
    return b.file().key_error(key, fmt::format("is {}, which is not supported", alpha));
  return {};
}

Result<> describe_hunyuan_dense(Builder& b) {
  TRY_VOID(refuse_more_experts(b));
  TRY_VOID(refuse_alpha(b));
  const DecoderParams p = TRY(read_decoder(b));
  AttentionBlock attention = TRY(read_attention(b, p, true));
  attention.qk_norm = QkNorm::kHead;
  attention.norm_after_rope = true;
  decoder(b, p, {.attention = attention});
  return {};
}

}  // namespace

extern const Architecture arch_hunyuan_dense;
const Architecture arch_hunyuan_dense{"hunyuan-dense", "Hunyuan (dense)", describe_hunyuan_dense};

}  // namespace brass
