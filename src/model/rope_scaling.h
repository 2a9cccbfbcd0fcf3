// Rotation frequencies: the plain ones, and the published ways to stretch them over longer contexts.
#pragma once

#include "model/builder.h"

namespace brass {

// Reads <arch>.rope.{freq_base, scaling.*} and rope_freqs.weight. `base_key`: "rope.freq_base" or another.
// inv_freq[i] = base^(−2i / n_rot), then
//  - linear: ÷ factor;
//  - yarn (Peng et al. 2023, "YaRN"): ÷ factor and unchanged, blended over a ramp of dimensions; the
//  magnitude
//    is the file's yarn_attn_factor, or 0.1·ln(factor) + 1;
//  - rope_freqs.weight (Llama 3.1): ÷ the tensor's factor of each pair.
// Any other scaling type is an error that names it.
Result<RopeTableAttrs> read_rope(Builder& b, uint32_t n_rot, float base_default,
                                 std::string_view base_key = "rope.freq_base");
// The plain frequencies.
RopeTableAttrs plain_rope(uint32_t n_rot, float base);

}  // namespace brass
