#version 460
// Rows of x in int8 for packed dot products of many rows: [row] codes of whole units of 32 columns, [row] their pairs
// (int8.glsl). A workgroup makes a row.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "prompt_rows.glsl"

void main() {
  const uint row = row_of_group();
  if (row >= p.rows) return;
  for (uint group = gl_LocalInvocationID.x; group < p.groups; group += kThreads) {
    vec4 x[8];
    load_row(row, group, x);
    const Quantized32 q = quantize(x);
    const uint64_t at = uint64_t(row) * p.groups + group;
    QuadsOut codes = QuadsOut(p.to + 32 * at);
    codes.v[0] = q.codes[0];
    codes.v[1] = q.codes[1];
    PairsOut(p.scales + 8 * at).v[0] = q.meta;
  }
}
