// Mixers with a state in place of attention, in general form; hybrid families share them.
#pragma once

#include <functional>

#include "model/blocks.h"

namespace brass {

// The memory group of all recurrent layers of a model.
uint32_t add_state_group(Builder& b);

// Which layers of the trunk are recurrent: attention.recurrent_layers, one flag a block; without it all but the last of
// every full_attention_interval.
Result<std::vector<bool>> read_recurrent_layers(Builder& b, const DecoderParams& p);

// Those that have no heads of k and v.
std::vector<bool> layers_without_attention(const DecoderParams& p);

// Mixes rows with those before them. `last`: keeps only the rows whose logits are wanted, behind the state.
using Mixer = std::function<ValueId(ValueId x, uint32_t layer, bool last)>;
// The attention of a layer that has it.
Mixer attention_mixer(Builder& b, const DecoderParams& p, const AttentionBlock& a);
Mixer either(std::vector<bool> recurrent, Mixer yes, Mixer no);

// ---- gated delta net: ssm_{conv_kernel,state_size,group_count,time_step_rank,inner_size}

struct DeltaForm {
  bool tiled;      // v head h belongs to k head h mod k_heads, else to h / (v_heads / k_heads)
  bool joined_ba;  // ssm_ba: for each k head, the rows of ssm_beta, then those of ssm_alpha
};
// attn_qkv, ssm_conv1d, ssm_alpha, ssm_beta, ssm_a, ssm_dt, ssm_norm, attn_gate, ssm_out
Result<Mixer> read_delta_net(Builder& b, const DecoderParams& p, const DeltaForm& form, uint32_t group);

// ---- Mamba 2: the same keys

// ssm_in (z | x | B | C | dt), ssm_conv1d, ssm_a, ssm_d, ssm_dt, ssm_norm (of each group, behind the gate), ssm_out
Result<Mixer> read_mamba2(Builder& b, const DecoderParams& p, uint32_t group);

// ---- gated short convolution: shortconv.l_cache

// shortconv.in_proj (B | C | x), shortconv.conv, shortconv.out_proj
Result<Mixer> read_short_conv(Builder& b, const DecoderParams& p, uint32_t group);

// ---- the whole of a decoder whose layers are one mixer each: x += mixer(norm(x)). A feed-forward part is such a
// mixer, too.
void mixer_decoder(Builder& b, const DecoderParams& p, const Mixer& mixer);

}  // namespace brass
