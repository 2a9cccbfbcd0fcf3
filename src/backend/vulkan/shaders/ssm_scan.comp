#version 460
// The selective scan of Mamba 2 (SsmAttrs in graph/graph.h), token after token. A subgroup is kRows rows of a head's state, of which
// each lane holds kOwn columns in registers over all tokens; what it needs of the next token is loaded while it computes.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "common.glsl"
#include "recurrent.glsl"
#ifdef USUAL  // as in matrix.glsl
layout(local_size_x = 128) in;
const uint kLanes = 32, kThreads = 128, kState = USUAL;
#else
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint kLanes = 32;
layout(constant_id = 1) const uint kThreads = 128;
layout(constant_id = 2) const uint kState = 128;
#endif
const uint kRows = 4, kOwn = (kState + kLanes - 1) / kLanes;
layout(push_constant) uniform Push {
  Floats xbc, dt, decay, skip, bias;
  Output y;
  Ints parts, snapshots;
  uint64_t pool;
  uint page_bytes, state_at;
  uint heads, dim, groups;
  uint xbc_stride, dt_stride, y_stride;
} p;

struct Token {
  float b[kOwn], c[kOwn], x[kRows], dt;
};

void main() {
  const uint lane = gl_SubgroupInvocationID, h = gl_WorkGroupID.y, group = h / (p.heads / p.groups);
  const uint row = (gl_WorkGroupID.x * (kThreads / kLanes) + gl_SubgroupID) * kRows;  // within the head
  if (row >= p.dim) return;
  const Part part = part_at(p.parts, gl_WorkGroupID.z);
  float s[kRows][kOwn];
  [[unroll]] for (uint r = 0; r < kRows; ++r) {
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {
      const uint n = i * kLanes + lane;
      const bool there = part.from >= 0 && n < kState && row + r < p.dim;
      Floats from = Floats(p.pool + uint64_t(max(part.from, 0)) * p.page_bytes + p.state_at);
      s[r][i] = there ? from.v[(h * p.dim + row + r) * kState + n] : 0.0;
    }
  }
#define KEEP(page)                                                                                       \
  {                                                                                                      \
    Output to = Output(p.pool + uint64_t(page) * p.page_bytes + p.state_at);                             \
    [[unroll]] for (uint r = 0; r < kRows; ++r) {                                                        \
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {                                                       \
        const uint n = i * kLanes + lane;                                                                \
        if (n < kState && row + r < p.dim) to.v[(h * p.dim + row + r) * kState + n] = s[r][i];           \
      }                                                                                                  \
    }                                                                                                    \
  }
#define LOAD(token, t)                                                                                   \
  {                                                                                                      \
    const uint at = (t) * p.xbc_stride, b_at = at + p.heads * p.dim + group * kState;                    \
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {                                                         \
      const uint n = min(i * kLanes + lane, kState - 1);                                                 \
      token.b[i] = p.xbc.v[b_at + n];                                                                    \
      token.c[i] = p.xbc.v[b_at + p.groups * kState + n];                                                \
    }                                                                                                    \
    [[unroll]] for (uint r = 0; r < kRows; ++r)                                                          \
      token.x[r] = p.xbc.v[at + h * p.dim + min(row + r, p.dim - 1)];                                    \
    token.dt = p.dt.v[(t) * p.dt_stride + h];                                                            \
  }

  Token token;
  LOAD(token, part.begin)
  for (uint t = part.begin; t < part.end; ++t) {
    Token now;
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {
      now.b[i] = token.b[i];
      now.c[i] = token.c[i];
    }
    [[unroll]] for (uint r = 0; r < kRows; ++r) now.x[r] = token.x[r];
    now.dt = token.dt;
    LOAD(token, min(t + 1, part.end - 1))
    const float step = softplus(now.dt + p.bias.v[h]), kept = exp(step * p.decay.v[h]);
    [[unroll]] for (uint r = 0; r < kRows; ++r) {
      float sum = 0.0;
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {
        // lanes behind the last column keep zeros
        s[r][i] = i * kLanes + lane < kState ? kept * s[r][i] + step * now.x[r] * now.b[i] : 0.0;
        sum += s[r][i] * now.c[i];
      }
      sum = subgroupAdd(sum) + p.skip.v[h] * now.x[r];
      if (lane == r && row + r < p.dim) p.y.v[t * p.y_stride + h * p.dim + row + r] = sum;
    }
    if (p.snapshots.v[t] >= 0) KEEP(p.snapshots.v[t])
  }
  KEEP(part.to)
}
