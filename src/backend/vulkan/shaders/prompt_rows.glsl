// Rows of x that are made for products of many rows: what is read for them, 32 columns at a time. A row of x may hold several
// parts, each a row of the result.
//   kJoined  x is act(x) · up, which is nowhere else
#include "act_mul.glsl"
#include "vectors.glsl"
layout(constant_id = 2) const uint kJoined = 0;
layout(push_constant) uniform Push {
  Floats x, up;
  uint64_t to, scales;  // [row]: what is made, what it is scaled by
  uint rows, cols, parts, x_stride;
  uint groups;          // of 32 columns, of the result
  uint up_stride, kind;
} p;

// The workgroup's row of the result.
uint row_of_group() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// Columns 32 group … of a row, as eight times four; zeros outside.
void load(Floats values, uint from, uint group, out vec4 x[8]) {
  const uint c = 32 * group;
  if ((from + c) % 4 == 0 && c + 32 <= p.cols) {
    Vectors fours = Vectors(uint64_t(values));
    for (uint j = 0; j < 8; ++j) x[j] = fours.v[(from + c) / 4 + j];
  } else {
    for (uint j = 0; j < 32; ++j) x[j / 4][j % 4] = c + j < p.cols ? values.v[from + c + j] : 0.0;
  }
}
void load_row(uint row, uint group, out vec4 x[8]) {
  const uint t = row / p.parts, part = row % p.parts * p.cols;
  load(p.x, t * p.x_stride + part, group, x);
  if (kJoined == 0) return;
  vec4 up[8];
  load(p.up, t * p.up_stride + part, group, up);
  for (uint j = 0; j < 8; ++j) {
    for (uint i = 0; i < 4; ++i) x[j][i] = act_mul(p.kind, x[j][i], up[j][i]);
  }
  // zeros behind the row's end, whatever the activation makes of them
  for (uint j = 0; j < 32; ++j) {
    if (32 * group + j >= p.cols) x[j / 4][j % 4] = 0.0;
  }
}
