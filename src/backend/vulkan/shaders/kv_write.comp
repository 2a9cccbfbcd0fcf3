#version 460
// Keys and values of each row into the page of its position. One thread a value: keys, then values.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "memory.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats k, v;
  Ints sequences, positions, starts, pages;
  uint64_t pool, page_bytes;
  uint groups, group, k_at, v_at;  // bytes of the layer's K and V within a page
  uint k_width, v_width, k_stride, v_stride;
} p;

void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
  if (i >= p.k_width + p.v_width || p.sequences.v[t] < 0) return;
  const uint position = uint(p.positions.v[t]), slot = position % kPageTokens;
  const int page = page_of(p.starts, p.pages, uint(p.sequences.v[t]), p.groups, p.group, position);
  const uint64_t at = p.pool + uint64_t(page) * p.page_bytes;
  if (i < p.k_width) {
    write_value(at + p.k_at, slot * p.k_width + i, kKeyHalf, p.k.v[t * p.k_stride + i]);
  } else {
    const uint j = i - p.k_width;
    write_value(at + p.v_at, slot * p.v_width + j, kValueHalf, p.v.v[t * p.v_stride + j]);
  }
}
