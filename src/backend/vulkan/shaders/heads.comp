#version 460
// head_norm and rope of each head of a row, then f32 or the page of the row's position. One subgroup a head: the sums and
// products are those of norm.comp and rope.comp.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
layout(constant_id = 1) const uint kDim = 64;
layout(constant_id = 2) const uint kToPages = 0;
layout(constant_id = 3) const uint kHalf = 0;  // pages are of f16, else of f32
layout(constant_id = 4) const uint kNorm = 0;  // 0: none, 1: before the rotation, 2: behind it
const uint kPageTokens = 64;
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Halves {
  uint16_t v[];
};
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
  uint at = t * p.y_stride + head * kDim;
  if (kToPages != 0) {
    const int sequence = p.batch.v[t];
    if (sequence < 0) return;
    const uint position = uint(p.batch.v[p.positions_at + t]);
    const uint start = uint(p.batch.v[p.starts_at + uint(sequence) * (p.groups_group >> 16) + (p.groups_group & 65535)]);
    page = p.y + uint64_t(p.batch.v[p.pages_at + start + position / kPageTokens]) * p.page_bytes;
    at = (position % kPageTokens * p.heads + head) * kDim;
  }
  for (uint i = lane; i < kDim; i += kLanes) head_values[i] = p.x.v[t * p.x_stride + head * kDim + i];
  meet();
  if (kNorm == 1) norm_head(0, kDim, head, p.eps);
  if (p.n_rot > 0) rotate_head(0, p.n_rot, p.neox != 0);
  if (kNorm == 2) norm_head(0, kDim, head, p.eps);
  for (uint i = lane; i < kDim; i += kLanes) {
    if (kToPages == 0) {
      Output(p.y).v[at + i] = head_values[i];
    } else if (kHalf != 0) {
      Halves(page).v[at + i] = uint16_t(packHalf2x16(vec2(head_values[i], 0.0)));
    } else {
      Output(page).v[at + i] = head_values[i];
    }
  }
}
