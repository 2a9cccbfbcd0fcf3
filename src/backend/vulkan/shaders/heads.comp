#version 460
// head_norm and rope of each head of a row, then f32 or the page of the row's position. One subgroup a head: the sums and
// products are those of norm.comp and rope.comp.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
#include "kv.glsl"
layout(constant_id = 1) const uint kDim = 64;
layout(constant_id = 2) const uint kToPages = 0;
layout(constant_id = 3) const uint kType = 0;  // of the pages: kv.glsl
layout(constant_id = 4) const uint kNorm = 0;  // 0: none, 1: before the rotation, 2: behind it
layout(push_constant) uniform Push {
  Floats x;
  uint64_t gain;
  uint64_t table;
  uint64_t y;               // f32; kToPages: the layer's keys, or values, of page 0
  Ints batch;               // sequences [T], positions [T], starts, pages: at the next three
  uint64_t page_bytes;
  uint positions_at, starts_at, pages_at;
  uint groups_group;        // groups · 65536 + group
  uint heads, n_rot, neox;  // n_rot 0: no rotation
  uint gain_step;
  uint x_stride, table_stride, y_stride;
  float eps;
} p;
shared float head_values[kDim];

float gain_of(uint head, uint i) { return p.gain != 0 ? Floats(p.gain).v[head * p.gain_step + i] : 1.0; }
float angle_of(uint i) { return Floats(p.table).v[gl_WorkGroupID.y * p.table_stride + i]; }
#include "head_parts.glsl"

void main() {
  const uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, t = gl_WorkGroupID.y;
  uint64_t page = 0;
  uint h = 0;
  if (kToPages != 0) {
    const int sequence = p.batch.v[t];
    if (sequence < 0) return;
    const uint position = uint(p.batch.v[p.positions_at + t]);
    const uint start = uint(p.batch.v[p.starts_at + uint(sequence) * (p.groups_group >> 16) + (p.groups_group & 65535)]);
    page = p.y + uint64_t(p.batch.v[p.pages_at + start + position / kPageTokens]) * p.page_bytes;
    h = position % kPageTokens * p.heads + head;
  }
  for (uint i = lane; i < kDim; i += kLanes) head_values[i] = p.x.v[t * p.x_stride + head * kDim + i];
  meet();
  if (kNorm == 1) norm_head(true, 0, kDim, head, p.eps);
  if (p.n_rot > 0) rotate_head(true, 0, p.n_rot, p.neox != 0);
  if (kNorm == 2) norm_head(true, 0, kDim, head, p.eps);
  for (uint i = lane; i < kDim; i += kLanes) {
    if (kToPages == 0) {
      Output(p.y).v[t * p.y_stride + head * kDim + i] = head_values[i];
    } else {
      Sizes sizes = no_sizes();
      const uint begin = i / kScaled * kScaled;
      if (kType == kInt8)
        for (uint j = begin; j < min(begin + kScaled, kDim); ++j) see(sizes, head_values[j]);
      write_value(page, p.heads, kDim, h, i, kType, head_values[i], sizes);
    }
  }
}
