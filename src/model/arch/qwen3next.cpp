// Qwen3-Next: as qwen35moe.cpp, but v heads of a delta net stand together by k head, and one matrix makes both of its
// gates.
#include "model/arch/qwen_hybrid.h"
#include "model/architecture.h"

namespace brass {
namespace {

Result<> describe_qwen3next(Builder& b) {
  return describe_qwen_hybrid(b, {.tiled = false, .joined_ba = true}, true);
}

}  // namespace

extern const Architecture arch_qwen3next;
const Architecture arch_qwen3next{"qwen3next", "Qwen3-Next", describe_qwen3next};

}  // namespace brass
