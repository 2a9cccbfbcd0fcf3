#include "model/draft.h"

namespace brass {
namespace {

std::string nextn(uint32_t block, std::string_view name) {
  return fmt::format("blk.{}.nextn.{}", block, name);
}

// The block's own tensor, else the trunk's.
std::string own_or(const Builder& b, const std::string& own, const std::string& trunk) {
  return b.has(own) ? own : trunk;
}

Result<> check_present(const Builder& b, uint32_t block) {
  const std::string name = nextn(block, "eh_proj.weight");
  if (b.has(name) || b.describes_shape()) return {};
  return b.file().tensor_error(name,
                               "is missing: the file was made without the block that predicts further tokens",
                               "load it without drafts");
}

void describe_block(Builder& b, const DecoderParams& p, const Decoder& d, uint32_t block) {
  b.set_layer(static_cast<int32_t>(block));
  const std::string table = own_or(b, nextn(block, "embed_tokens.weight"), "token_embd.weight");
  const ValueId token = b.embed_by(EmbedIndex::kToken, table, p.vocabulary, p.width);
  const ValueId e = b.rms_norm(token, nextn(block, "enorm.weight"), p.eps);
  const ValueId h = b.rms_norm(b.hidden_in(p.width), nextn(block, "hnorm.weight"), p.eps);
  const ValueId both = b.concat(e, h, 1, nextn(block, "eh"));
  const ValueId x = b.linear(both, nextn(block, "eh_proj"), p.width);
  const ValueId y = decoder_layer(b, p, d, x, block, false);
  b.hidden = b.rms_norm(y, own_or(b, nextn(block, "shared_head_norm.weight"), "output_norm.weight"), p.eps);
  const std::string output = own_or(b, "output.weight", "token_embd.weight");
  b.logits = b.lm_head(b.gather_rows(b.hidden, "output_rows"),
                       own_or(b, nextn(block, "shared_head_head.weight"), output), p.vocabulary);
}

}  // namespace

Result<> describe_drafts(Builder& b, const DecoderParams& p, const std::function<Result<Decoder>()>& layer) {
  if (!b.output().draft) {
    ignore_nextn(b, p);
    return {};
  }
  for (uint32_t block = p.layers; block < p.layers + p.nextn; block++) {
    TRY_VOID(check_present(b, block));
    b.begin_draft();
    const uint32_t before = b.groups();
    const Decoder d = TRY(layer());
    for (uint32_t g = before; g < b.groups(); g++) b.group(g).name += "_draft";
    describe_block(b, p, d, block);
  }
  return {};
}

}  // namespace brass
