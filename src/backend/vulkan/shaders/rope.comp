#version 460
// Rotates the first n_rot dimensions of each head by the row's table. One thread a pair, or a dimension that passes.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats x, table;
  Output y;
  uint heads, dim, n_rot, neox;
  uint x_stride, table_stride, y_stride;
} p;

void main() {
  const uint pairs = p.n_rot / 2, units = p.dim - pairs;  // of a head
  const uint unit = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
  if (unit >= p.heads * units) return;
  const uint head = unit / units * p.dim, i = unit % units;
  const uint from = t * p.x_stride + head, to = t * p.y_stride + head;
  if (i >= pairs) {
    p.y.v[to + pairs + i] = p.x.v[from + pairs + i];
    return;
  }
  const uint first = p.neox != 0 ? i : 2 * i, second = p.neox != 0 ? i + pairs : 2 * i + 1;
  const float c = p.table.v[t * p.table_stride + 2 * i], s = p.table.v[t * p.table_stride + 2 * i + 1];
  const float u = p.x.v[from + first], v = p.x.v[from + second];
  precise const float a = u * c - v * s, b = u * s + v * c;
  p.y.v[to + first] = a;
  p.y.v[to + second] = b;
}
