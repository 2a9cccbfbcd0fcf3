// What Qwen3-Next and Qwen3.5 to 3.8 share: gated delta nets between gated attention layers.
#pragma once

#include "model/recurrent.h"

namespace brass {

// `experts`: a mixture of them, weighed among those selected, beside one that all tokens use, behind a gate of its own.
// Blocks that predict further tokens (nextn) have attention.
Result<> describe_qwen_hybrid(Builder& b, const DeltaForm& delta, bool experts);

}  // namespace brass
