#version 460
// The selective scan of Mamba 2 (SsmAttrs in graph/graph.h). A thread is one row of a head's state.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "recurrent.glsl"
layout(local_size_x = 64) in;
layout(constant_id = 1) const uint kState = 128;
layout(push_constant) uniform Push {
  Floats xbc, dt, decay, skip, bias;
  Output y;
  Ints parts, snapshots;
  uint64_t pool;
  uint page_bytes, state_at;
  uint heads, dim, groups;
  uint xbc_stride, dt_stride, y_stride;
} p;

void keep(int page, uint r, float s[kState]) {
  Output to = Output(p.pool + uint64_t(page) * p.page_bytes + p.state_at);
  for (uint n = 0; n < kState; ++n) to.v[r * kState + n] = s[n];
}

void main() {
  const uint r = gl_GlobalInvocationID.x;
  if (r >= p.heads * p.dim) return;
  const uint h = r / p.dim, group = h / (p.heads / p.groups);
  const Part part = part_at(p.parts, gl_WorkGroupID.y);
  float s[kState];
  for (uint n = 0; n < kState; ++n)
    s[n] = part.from < 0
               ? 0.0
               : Floats(p.pool + uint64_t(part.from) * p.page_bytes + p.state_at).v[r * kState + n];
  for (uint t = part.begin; t < part.end; ++t) {
    const uint at = t * p.xbc_stride, b = at + p.heads * p.dim + group * kState, c = b + p.groups * kState;
    const float step = softplus(p.dt.v[t * p.dt_stride + h] + p.bias.v[h]);
    const float kept = exp(step * p.decay.v[h]), x = p.xbc.v[at + r];
    float sum = p.skip.v[h] * x;
    for (uint n = 0; n < kState; ++n) {
      s[n] = kept * s[n] + step * x * p.xbc.v[b + n];
      sum += s[n] * p.xbc.v[c + n];
    }
    p.y.v[t * p.y_stride + r] = sum;
    if (p.snapshots.v[t] >= 0) keep(p.snapshots.v[t], r, s);
  }
  keep(part.to, r, s);
}
