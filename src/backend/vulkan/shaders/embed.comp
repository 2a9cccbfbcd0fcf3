#version 460
// y[t] = row ids[t] of the table; zeros for padding. One thread a value.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "block.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Bytes table, grid_table;
  Ints ids, sequences;
  Output y;
  uint row_bytes, width, y_stride, first, run, stride;
} p;

uint tensor_row(uint r) { return row_of_slice(r, p.first, p.run, p.stride); }

void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
  if (i >= p.width) return;
  grid = p.grid_table;
  const bool padding = p.sequences.v[t] < 0;
  const uint64_t row = uint64_t(p.table) + uint64_t(tensor_row(padding ? 0 : uint(p.ids.v[t]))) * p.row_bytes;
  p.y.v[t * p.y_stride + i] = padding ? 0.0 : value_of(row, i);
}
