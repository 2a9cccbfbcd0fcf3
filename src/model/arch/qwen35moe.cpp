// Qwen3.5 … 3.8 mixtures of experts: the mixers of qwen35.cpp.
#include "model/arch/qwen_hybrid.h"
#include "model/architecture.h"

namespace brass {
namespace {

Result<> describe_qwen35moe(Builder& b) {
  return describe_qwen_hybrid(b, {.tiled = true, .joined_ba = false}, true);
}

}  // namespace

extern const Architecture arch_qwen35moe;
const Architecture arch_qwen35moe{"qwen35moe", "Qwen3.5, Qwen3.6, Qwen3.8 mixtures of experts",
                                  describe_qwen35moe};

}  // namespace brass
