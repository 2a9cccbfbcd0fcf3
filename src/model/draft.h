// Blocks that predict further tokens (multi-token prediction; "nextn" in files): a graph each, behind the trunk's.
//
// Block k stands at blk.<layers + k>. Its row at position i takes two things: the token at position i + 1 + k, and a
// hidden row of position i: for the first block the trunk's, behind its last norm; for a further one, that of the block
// before it. Then
//   x = nextn.eh_proj · [rms(embedding of the token, nextn.enorm) | rms(hidden row, nextn.hnorm)]
//   x = one layer of the decoder, over keys and values of its own
//   hidden row = rms(x, nextn.shared_head_norm);  logits = nextn.shared_head_head · hidden row
// and the logits are those of the token at position i + 2 + k. Where a file lacks nextn.embed_tokens,
// nextn.shared_head_norm or nextn.shared_head_head, they are the trunk's token_embd, output_norm and output. (DeepSeek-V3
// Technical Report, 2024, 2.2. What goes in, and from one step of a chain into the next, is behind the norm in all
// families, as in the models' own code.)
#pragma once

#include <functional>

#include "model/blocks.h"

namespace brass {

// For the end of a description. `layer`: the decoder that a block is a layer of, described anew for each block, so that
// its memory groups and rotation tables are the block's own; called only where the model is loaded for drafts. Else the
// blocks' tensors are left in the file.
Result<> describe_drafts(Builder& b, const DecoderParams& p, const std::function<Result<Decoder>()>& layer);

}  // namespace brass
