// Rotation frequencies: the plain ones, and the published ways to stretch them over longer contexts.
#pragma once

#include "model/builder.h"

namespace brass {

// What an architecture says about its rotation beyond the file's keys.
struct RopeForm {
  float base = 10000;  // where the file gives none
  std::string_view base_key = "rope.freq_base";
  bool whole_ramp = true;       // yarn's ramp begins and ends at whole dimensions
  bool log_multiplier = false;  // the architecture reads rope.scaling.yarn_log_multiplier, where it is there
};

// Reads <arch>.rope.{freq_base, scaling.*}, rope_freqs.weight and rope_factors_{short,long}.weight.
// inv_freq[i] = base^(−2i / n_rot), then
//  - linear: ÷ factor;
//  - yarn (Peng et al. 2023, "YaRN"): ÷ factor and unchanged, blended over a ramp of dimensions; the magnitude
//    is the file's yarn_attn_factor, or 1 with a yarn_log_multiplier, or 0.1·ln(factor) + 1;
//  - longrope (Ding et al. 2024, "LongRoPE"), with or without its name in the type: ÷ the short factors, or ÷
//    the long ones where the context is opened for more than original_context_length;
//  - rope_freqs.weight (Llama 3.1): ÷ the tensor's factor of each pair.
// attn_factor multiplies the magnitude in all of them. Any other scaling type is an error that names it.
Result<RopeTableAttrs> read_rope(Builder& b, uint32_t n_rot, const RopeForm& form = {});
// The plain frequencies.
RopeTableAttrs plain_rope(uint32_t n_rot, float base);
// How many of a head's dimensions are rotated: rope.dimension_count, or all.
Result<uint32_t> read_rotated(Builder& b, uint32_t head_dim);

}  // namespace brass
