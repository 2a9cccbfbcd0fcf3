#version 460
// The gated delta rule (DeltaAttrs in graph/graph.h), token after token. A subgroup is kColumns columns of one v head's state, of
// which each lane holds kOwn rows in registers over all tokens; what it needs of the next token is loaded while it computes.
// What does not depend on the state is there already where kPrepared (delta_prepare.comp), with the same bits.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "common.glsl"
#include "recurrent.glsl"
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint kLanes = 32;
layout(constant_id = 1) const uint kThreads = 128;
layout(constant_id = 2) const uint kKeyDim = 128;
layout(constant_id = 3) const uint kPrepared = 0;
const uint kColumns = 4, kOwn = (kKeyDim + kLanes - 1) / kLanes;
layout(push_constant) uniform Push {
  Floats qkv, b, dt, decay, bias;
  Output y;
  Ints parts, snapshots;
  uint64_t pool;
  Floats ready;  // kPrepared: [T][k_heads] pairs of lengths, then [T][v_heads] pairs of gates
  uint page_bytes, state_at;
  uint k_heads, v_heads, v_dim, tiled;
  uint qkv_stride, b_stride, dt_stride, y_stride;
  uint tokens;
} p;
#include "delta.glsl"

uint64_t state(int page) {
  return p.pool + uint64_t(page) * p.page_bytes + p.state_at + uint64_t(gl_WorkGroupID.y) * kKeyDim * p.v_dim * 4;
}

struct Token {
  float q[kOwn], k[kOwn], v[kColumns];
  vec2 lengths, gates;  // 1 ÷ those of q and k; what is kept, β
};

void main() {
  const uint lane = gl_SubgroupInvocationID, h = gl_WorkGroupID.y;
  const uint column = (gl_WorkGroupID.x * (kThreads / kLanes) + gl_SubgroupID) * kColumns;
  if (column >= p.v_dim) return;
  const uint from = p.tiled != 0 ? h % p.k_heads : h / (p.v_heads / p.k_heads);
  const Part part = part_at(p.parts, gl_WorkGroupID.z);
  float s[kColumns][kOwn];
  [[unroll]] for (uint c = 0; c < kColumns; ++c) {
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {
      const uint d = i * kLanes + lane;
      const bool there = part.from >= 0 && d < kKeyDim && column + c < p.v_dim;
      s[c][i] = there ? Floats(state(part.from)).v[d * p.v_dim + column + c] : 0.0;
    }
  }
#define KEEP(page)                                                                            \
  {                                                                                           \
    Output to = Output(state(page));                                                          \
    [[unroll]] for (uint c = 0; c < kColumns; ++c) {                                          \
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {                                            \
        const uint d = i * kLanes + lane;                                                     \
        if (d < kKeyDim && column + c < p.v_dim) to.v[d * p.v_dim + column + c] = s[c][i];    \
      }                                                                                       \
    }                                                                                         \
  }
#define LOAD(token, t)                                                                                             \
  {                                                                                                                \
    const uint at = (t) * p.qkv_stride, keys = p.k_heads * kKeyDim;                                                \
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {                                                                   \
      const uint d = min(i * kLanes + lane, kKeyDim - 1);                                                          \
      token.q[i] = p.qkv.v[at + from * kKeyDim + d];                                                               \
      token.k[i] = p.qkv.v[at + keys + from * kKeyDim + d];                                                        \
    }                                                                                                              \
    [[unroll]] for (uint c = 0; c < kColumns; ++c)                                                                 \
      token.v[c] = p.qkv.v[at + 2 * keys + h * p.v_dim + min(column + c, p.v_dim - 1)];                            \
    if (kPrepared != 0) {                                                                                          \
      const uint l = 2 * ((t) * p.k_heads + from), g = 2 * (p.tokens * p.k_heads + (t) * p.v_heads + h);           \
      token.lengths = vec2(p.ready.v[l], p.ready.v[l + 1]);                                                        \
      token.gates = vec2(p.ready.v[g], p.ready.v[g + 1]);                                                          \
    } else {                                                                                                       \
      float squares_q = 0.0, squares_k = 0.0;                                                                      \
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {                                                                 \
        if (i * kLanes + lane >= kKeyDim) continue;                                                                \
        squares_q += token.q[i] * token.q[i];                                                                      \
        squares_k += token.k[i] * token.k[i];                                                                      \
      }                                                                                                            \
      token.lengths = vec2(inverse_length(subgroupAdd(squares_q)), inverse_length(subgroupAdd(squares_k)));        \
      token.gates = gates_of(p.dt.v[(t) * p.dt_stride + h], p.b.v[(t) * p.b_stride + h], p.decay.v[h], p.bias.v[h]); \
    }                                                                                                              \
  }

  Token token;
  LOAD(token, part.begin)
  for (uint t = part.begin; t < part.end; ++t) {
    Token now;
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {
      now.q[i] = token.q[i];
      now.k[i] = token.k[i];
    }
    [[unroll]] for (uint c = 0; c < kColumns; ++c) now.v[c] = token.v[c];
    now.lengths = token.lengths;
    now.gates = token.gates;
    LOAD(token, min(t + 1, part.end - 1))
    const float kept = now.gates.x;
    [[unroll]] for (uint c = 0; c < kColumns; ++c) {
      float old = 0.0;
      [[unroll]] for (uint i = 0; i < kOwn; ++i) old += s[c][i] * now.k[i];
      old = kept * subgroupAdd(old);
      const float delta = now.gates.y * (now.v[c] - old * now.lengths.y) * now.lengths.y;
      float sum = 0.0;
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {
        // lanes behind the last row keep zeros
        s[c][i] = i * kLanes + lane < kKeyDim ? kept * s[c][i] + now.k[i] * delta : 0.0;
        sum += s[c][i] * now.q[i];
      }
      sum = subgroupAdd(sum);
      if (lane == c && column + c < p.v_dim)
        p.y.v[t * p.y_stride + h * p.v_dim + column + c] = sum * now.lengths.x / sqrt(float(kKeyDim));
    }
    if (p.snapshots.v[t] >= 0) KEEP(p.snapshots.v[t])
  }
  KEEP(part.to)
}
