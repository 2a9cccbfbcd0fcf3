#version 460
// The gated delta rule over many tokens (DeltaAttrs in graph/graph.h), for keys of KEY_DIM. Four lanes share a column of a v head's
// state, which stays in their registers: each holds every fourth four rows. Tokens come in blocks through shared memory, so that
// a token costs two sums over four lanes, and nothing that waits for memory. What does not depend on the state is there already
// (delta_prepare.comp). A token's sums do not depend on where blocks end.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "common.glsl"
#include "recurrent.glsl"
layout(local_size_x = 128) in;
layout(push_constant) uniform Push {
  Floats qkv, b, dt, decay, bias;
  Output y;
  Ints parts, snapshots;
  uint64_t pool;
  Floats ready;  // [T][k_heads] pairs of 1 ÷ lengths of q and k, then [T][v_heads] pairs: what is kept, β
  uint page_bytes, state_at;
  uint k_heads, v_heads, v_dim, tiled;
  uint qkv_stride, b_stride, dt_stride, y_stride;
  uint tokens;
} p;
const uint kThreads = 128, kLanesOfColumn = 4, kColumns = kThreads / kLanesOfColumn;
const uint kRowQuads = KEY_DIM / 4, kOwn = kRowQuads / kLanesOfColumn;  // fours of rows; those of a lane
const uint kBlock = 8;                                                // tokens
shared vec4 queries[kBlock * kRowQuads], keys[kBlock * kRowQuads], heads[kBlock];
shared float values[kBlock * kColumns];
shared int pages[kBlock];

uint64_t state(int page) {
  return p.pool + uint64_t(page) * p.page_bytes + p.state_at + uint64_t(gl_WorkGroupID.y) * KEY_DIM * p.v_dim * 4;
}
vec4 four_at(uint at) { return vec4(p.qkv.v[at], p.qkv.v[at + 1], p.qkv.v[at + 2], p.qkv.v[at + 3]); }
float over_lanes(vec4 x) {
  float sum = (x.x + x.y) + (x.z + x.w);
  sum += subgroupShuffleXor(sum, 1);
  return sum + subgroupShuffleXor(sum, 2);
}

void load_block(uint thread, uint begin, uint count, uint from, uint h) {
  const uint keys_at = p.k_heads * KEY_DIM;
  for (uint u = thread; u < count * kRowQuads; u += kThreads) {
    const uint at = (begin + u / kRowQuads) * p.qkv_stride + from * KEY_DIM + u % kRowQuads * 4;
    queries[u] = four_at(at);
    keys[u] = four_at(at + keys_at);
  }
  for (uint u = thread; u < count * kColumns; u += kThreads) {
    const uint column = min(gl_WorkGroupID.x * kColumns + u % kColumns, p.v_dim - 1);
    values[u] = p.qkv.v[(begin + u / kColumns) * p.qkv_stride + 2 * keys_at + h * p.v_dim + column];
  }
  if (thread < count) {
    const uint t = begin + thread, l = 2 * (t * p.k_heads + from), g = 2 * (p.tokens * p.k_heads + t * p.v_heads + h);
    heads[thread] = vec4(p.ready.v[l], p.ready.v[l + 1], p.ready.v[g], p.ready.v[g + 1]);
    pages[thread] = p.snapshots.v[t];
  }
}

void main() {
  const uint thread = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID, r = thread % kLanesOfColumn;
  const uint h = gl_WorkGroupID.y, column = gl_WorkGroupID.x * kColumns + thread / kLanesOfColumn;
  const bool there = column < p.v_dim;
  const uint from = p.tiled != 0 ? h % p.k_heads : h / (p.v_heads / p.k_heads);
  const Part part = part_at(p.parts, gl_WorkGroupID.z);
  vec4 s[kOwn];
  [[unroll]] for (uint i = 0; i < kOwn; ++i) {
    [[unroll]] for (uint e = 0; e < 4; ++e) {
      const uint d = 4 * (i * kLanesOfColumn + r) + e;
      s[i][e] = there && part.from >= 0 ? Floats(state(part.from)).v[d * p.v_dim + column] : 0.0;
    }
  }
#define KEEP(page)                                                                                 \
  if (there) {                                                                                     \
    Output to = Output(state(page));                                                               \
    [[unroll]] for (uint i = 0; i < kOwn; ++i) {                                                   \
      [[unroll]] for (uint e = 0; e < 4; ++e)                                                      \
        to.v[(4 * (i * kLanesOfColumn + r) + e) * p.v_dim + column] = s[i][e];                     \
    }                                                                                              \
  }

  for (uint begin = part.begin; begin < part.end; begin += kBlock) {
    const uint count = min(kBlock, part.end - begin);
    barrier();
    load_block(thread, begin, count, from, h);
    barrier();
    for (uint t = 0; t < count; ++t) {
      const vec4 head = heads[t];
      vec4 k[kOwn], sum = vec4(0.0);
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {
        k[i] = keys[t * kRowQuads + i * kLanesOfColumn + r];
        sum = fma(s[i], k[i], sum);
      }
      const float kept = head.z, old = kept * over_lanes(sum);
      const float delta = head.w * (values[t * kColumns + thread / kLanesOfColumn] - old * head.y) * head.y;
      sum = vec4(0.0);
      [[unroll]] for (uint i = 0; i < kOwn; ++i) {
        s[i] = fma(k[i], vec4(delta), kept * s[i]);
        sum = fma(s[i], queries[t * kRowQuads + i * kLanesOfColumn + r], sum);
      }
      const float y = over_lanes(sum) * head.x / sqrt(float(KEY_DIM));
      if (r == 0 && there) p.y.v[(begin + t) * p.y_stride + h * p.v_dim + column] = y;
      if (pages[t] >= 0) KEEP(pages[t])
    }
  }
  KEEP(part.to)
}
