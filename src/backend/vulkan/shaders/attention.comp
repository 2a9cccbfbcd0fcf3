#version 460
// Attention of one row in one query head, page by page with a running softmax. The lanes of a subgroup score positions of
// a page, then sum dimensions of V.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
#include "memory.glsl"
layout(constant_id = 3) const uint kParts = 1;  // ⌈v_dim / kLanes⌉
const uint kTurns = kPageTokens / kLanes;
layout(push_constant) uniform Push {
  Floats q, sinks;
  Output y;
  Ints batch;              // sequences [T], positions [T], starts, pages: at the next three
  uint64_t pool;
  uint page_bytes, positions_at, starts_at, pages_at;
  uint groups_group;       // groups · 65536 + group
  uint k_at, v_at;
  uint q_heads, group_size;  // query heads that share keys
  uint k_dim, v_dim, window;
  float scale, softcap, temperature;
  uint temperature_length, has_sinks;
  uint q_stride, y_stride;
} p;
shared float score[kPageTokens];

void main() {
  const uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, t = gl_WorkGroupID.y;
  const int sequence = p.batch.v[t];
  const uint out_at = t * p.y_stride + head * p.v_dim;
  if (sequence < 0) {
    for (uint d = lane; d < p.v_dim; d += kLanes) p.y.v[out_at + d] = 0.0;
    return;
  }
  const uint groups = p.groups_group >> 16, group = p.groups_group & 65535, kv_head = head / p.group_size;
  const uint heads = p.q_heads / p.group_size;
  const uint position = uint(p.batch.v[p.positions_at + t]);
  const uint begin = p.window > 0 && position + 1 > p.window ? position + 1 - p.window : 0;
  const uint table = p.pages_at + uint(p.batch.v[p.starts_at + uint(sequence) * groups + group]);
  float factor = p.scale;
  if (p.temperature != 0.0) factor *= 1.0 + p.temperature * log(1.0 + float(position / p.temperature_length));

  float top = p.has_sinks != 0 ? p.sinks.v[head] : -kInfinity;
  float total = p.has_sinks != 0 ? 1.0 : 0.0;
  float sum[kParts];
  for (uint i = 0; i < kParts; ++i) sum[i] = 0.0;
  for (uint page = begin / kPageTokens; page <= position / kPageTokens; ++page) {
    const uint64_t at = p.pool + uint64_t(p.batch.v[table + page]) * p.page_bytes;
    float s[kTurns], largest = -kInfinity;
    for (uint i = 0; i < kTurns; ++i) {
      const uint slot = i * kLanes + lane, here = page * kPageTokens + slot;
      s[i] = -kInfinity;
      if (here >= begin && here <= position) {
        const uint key = slot * heads + kv_head, query = t * p.q_stride + head * p.k_dim;
        float dot = 0.0;
        for (uint d = 0; d < p.k_dim; ++d)
          dot += p.q.v[query + d] * read_value(at + p.k_at, heads, p.k_dim, key, d, kKeyType);
        s[i] = dot * factor;
        if (p.softcap != 0.0) s[i] = p.softcap * tanh_of(s[i] / p.softcap);
      }
      largest = isnan(s[i]) ? s[i] : max(largest, s[i]);
    }
    const float highest = max(top, subgroupMax(largest)), kept = exp(top - highest);
    float mine = 0.0;
    for (uint i = 0; i < kTurns; ++i) {
      const float weight = s[i] == -kInfinity ? 0.0 : exp(s[i] - highest);
      score[i * kLanes + lane] = weight;
      mine += weight;
    }
    total = total * kept + subgroupAdd(mine);
    top = highest;
    subgroupMemoryBarrierShared();
    subgroupBarrier();
    for (uint i = 0; i < kParts; ++i) {
      const uint d = i * kLanes + lane;
      if (d >= p.v_dim) break;
      float add = 0.0;
      for (uint j = 0; j < kPageTokens; ++j) {
        const uint other = page * kPageTokens + j;
        if (other < begin || other > position) continue;
        add += score[j] * read_value(at + p.v_at, heads, p.v_dim, j * heads + kv_head, d, kValueType);
      }
      sum[i] = sum[i] * kept + add;
    }
    subgroupBarrier();
  }
  for (uint i = 0; i < kParts; ++i) {
    const uint d = i * kLanes + lane;
    if (d < p.v_dim) p.y.v[out_at + d] = sum[i] / total;
  }
}
