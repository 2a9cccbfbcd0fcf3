#version 460
// Keys and values of each row into the page of its position. Two runs of 32 values of a head a workgroup, as those share a
// scale where they become int8: keys, then values.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "memory.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats k, v;
  Ints sequences, positions, starts, pages;
  uint64_t pool, page_bytes;
  uint groups, group, k_at, v_at;  // bytes of the layer's K and V within a page
  uint heads, k_dim, v_dim, k_stride, v_stride;
} p;
shared float values[64];

void main() {
  const uint thread = gl_LocalInvocationID.x, t = gl_WorkGroupID.y;
  if (p.sequences.v[t] < 0) return;
  const uint position = uint(p.positions.v[t]);
  const int page = page_of(p.starts, p.pages, uint(p.sequences.v[t]), p.groups, p.group, position);
  const uint64_t at = p.pool + uint64_t(page) * p.page_bytes;
  const uint keys = p.heads * scales_of_head(p.k_dim), run = gl_WorkGroupID.x * 2 + thread / kScaled;
  const bool key = run < keys;
  const uint of = key ? run : run - keys, dim = key ? p.k_dim : p.v_dim, runs = max(scales_of_head(dim), 1);
  const uint head = of / runs, d = of % runs * kScaled + thread % kScaled;
  const bool there = head < p.heads && d < dim;
  float x = 0.0;
  if (there) x = key ? p.k.v[t * p.k_stride + head * dim + d] : p.v.v[t * p.v_stride + head * dim + d];
  values[thread] = x;
  barrier();
  if (!there) return;
  const uint h = position % kPageTokens * p.heads + head, type = key ? kKeyType : kValueType;
  Sizes sizes = no_sizes();
  if (type == kInt8)
    for (uint i = 0; i < kScaled; ++i) see(sizes, values[thread / kScaled * kScaled + i]);
  write_value(at + (key ? p.k_at : p.v_at), p.heads, dim, h, d, type, x, sizes);
}
