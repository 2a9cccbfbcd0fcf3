#version 460
// Of each token: 1 ÷ the lengths of q and k of each k head, and the gates of each v head; as delta_net.comp reads them. A
// subgroup is a k head of a token, or the gates of one.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
layout(constant_id = 1) const uint kKeyDim = 128;
layout(push_constant) uniform Push {
  Floats qkv, b, dt, decay, bias;
  Output ready;
  uint k_heads, v_heads, tokens;
  uint qkv_stride, b_stride, dt_stride;
} p;
#include "delta.glsl"

void main() {
  const uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, t = gl_WorkGroupID.y;
  if (head < p.k_heads) {
    const uint at = t * p.qkv_stride + head * kKeyDim, keys = p.k_heads * kKeyDim;
    float squares_q = 0.0, squares_k = 0.0;
    for (uint d = lane; d < kKeyDim; d += kLanes) {
      const float q = p.qkv.v[at + d], k = p.qkv.v[at + keys + d];
      squares_q += q * q;
      squares_k += k * k;
    }
    const vec2 lengths = vec2(inverse_length(subgroupAdd(squares_q)), inverse_length(subgroupAdd(squares_k)));
    if (lane == 0) {
      p.ready.v[2 * (t * p.k_heads + head)] = lengths.x;
      p.ready.v[2 * (t * p.k_heads + head) + 1] = lengths.y;
    }
    return;
  }
  for (uint h = lane; h < p.v_heads; h += kLanes) {
    const vec2 gates = gates_of(p.dt.v[t * p.dt_stride + h], p.b.v[t * p.b_stride + h], p.decay.v[h], p.bias.v[h]);
    const uint at = 2 * (p.tokens * p.k_heads + t * p.v_heads + h);
    p.ready.v[at] = gates.x;
    p.ready.v[at + 1] = gates.y;
  }
}
