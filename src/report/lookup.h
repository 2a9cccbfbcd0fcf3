// Speculation that needs no second model: the tokens that followed the same words earlier in the text are the draft.
//
// Owns: how many steps a reply that is known would have taken. Must not know: models, clocks.
// Invariants: what a step yields are the tokens that the reply has anyway: its accepted drafts and one more.
#pragma once

#include <cstdint>
#include <span>

namespace brass::report {

struct LookupReplay {
  uint32_t plain = 0, drafting = 0;    // steps without and with a draft
  uint32_t drafted = 0, accepted = 0;  // tokens
  uint32_t tokens = 0;  // that the steps yielded: the reply without its first one, which is the prompt's
  uint32_t steps() const { return plain + drafting; }
  double acceptance() const { return drafted > 0 ? static_cast<double>(accepted) / drafted : 0; }
};

// text: the prompt's tokens and then the reply's. The last `match` tokens are looked for, latest place first; up to
// `draft` of those behind it are proposed (Saxena 2023, "Prompt lookup decoding").
LookupReplay replay_lookup(std::span<const int32_t> text, size_t prompt, uint32_t match, uint32_t draft);

}  // namespace brass::report
