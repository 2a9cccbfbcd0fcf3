#version 460
// The gated delta rule (DeltaAttrs in graph/graph.h). A workgroup is one v head of one sequence, a thread one column of
// its state, which stays in registers over all rows.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "recurrent.glsl"
layout(local_size_x_id = 1) in;  // v_dim
layout(constant_id = 2) const uint kKeyDim = 128;
layout(push_constant) uniform Push {
  Floats qkv, b, dt, decay, bias;
  Output y;
  Ints parts, snapshots;
  uint64_t pool;
  uint page_bytes, state_at;
  uint k_heads, v_heads, v_dim, tiled;
  uint qkv_stride, b_stride, dt_stride, y_stride;
} p;
shared float q[kKeyDim], k[kKeyDim], lengths[2];

uint64_t state(int page) {
  return p.pool + uint64_t(page) * p.page_bytes + p.state_at + uint64_t(gl_WorkGroupID.x) * kKeyDim * p.v_dim * 4;
}
void keep(int page, float s[kKeyDim]) {
  Output to = Output(state(page));
  for (uint i = 0; i < kKeyDim; ++i) to.v[i * p.v_dim + gl_LocalInvocationID.x] = s[i];
}

void main() {
  const uint j = gl_LocalInvocationID.x, h = gl_WorkGroupID.x;
  const uint from = p.tiled != 0 ? h % p.k_heads : h / (p.v_heads / p.k_heads);
  const Part part = part_at(p.parts, gl_WorkGroupID.y);
  float s[kKeyDim];
  for (uint i = 0; i < kKeyDim; ++i) s[i] = part.from < 0 ? 0.0 : Floats(state(part.from)).v[i * p.v_dim + j];
  for (uint t = part.begin; t < part.end; ++t) {
    const uint at = t * p.qkv_stride, keys = p.k_heads * kKeyDim;
    barrier();
    for (uint i = j; i < kKeyDim; i += p.v_dim) {
      q[i] = p.qkv.v[at + from * kKeyDim + i];
      k[i] = p.qkv.v[at + keys + from * kKeyDim + i];
    }
    barrier();
    if (j < 2) {
      float squares = 0.0;
      for (uint i = 0; i < kKeyDim; ++i) squares += j == 0 ? q[i] * q[i] : k[i] * k[i];
      lengths[j] = 1.0 / sqrt(squares + 1e-6);
    }
    barrier();
    const float v = p.qkv.v[at + 2 * keys + h * p.v_dim + j];
    const float kept = exp(p.decay.v[h] * softplus(p.dt.v[t * p.dt_stride + h] + p.bias.v[h]));
    const float beta = sigmoid(p.b.v[t * p.b_stride + h]);
    float old = 0.0;
    for (uint i = 0; i < kKeyDim; ++i) old += kept * s[i] * k[i];
    const float delta = beta * (v - old * lengths[1]) * lengths[1];
    float sum = 0.0;
    for (uint i = 0; i < kKeyDim; ++i) {
      s[i] = kept * s[i] + k[i] * delta;
      sum += s[i] * q[i];
    }
    p.y.v[t * p.y_stride + h * p.v_dim + j] = sum * lengths[0] / sqrt(float(kKeyDim));
    if (p.snapshots.v[t] >= 0) keep(p.snapshots.v[t], s);
  }
  keep(part.to, s);
}
