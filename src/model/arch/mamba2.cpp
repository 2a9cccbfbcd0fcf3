// Mamba 2, Codestral Mamba: state space layers and nothing else.
#include "model/architecture.h"
#include "model/recurrent.h"

namespace brass {
namespace {

Result<> describe_mamba2(Builder& b) {
  const DecoderParams p = TRY(read_decoder(b, {.no_attention = true, .no_ffn = true}));
  mixer_decoder(b, p, TRY(read_mamba2(b, p, add_state_group(b))));
  return {};
}

}  // namespace

extern const Architecture arch_mamba2;
const Architecture arch_mamba2{"mamba2", "Mamba 2, Codestral Mamba", describe_mamba2};

}  // namespace brass
