#version 460
// Rows of x as f16 for the matrix unit: multiplied by the power of two that brings the row's largest value to 2^14 … 2^15
// (so nothing overflows), zeros behind the row's end. `scales` gets what undoes it. A row of x may hold several parts,
// each a row of the result. A workgroup makes a row.
//   kJoined  x is act(x) · up, which is nowhere else
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "common.glsl"
#include "act_mul.glsl"
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint kLanes = 32;
layout(constant_id = 1) const uint kThreads = 128;
layout(constant_id = 2) const uint kJoined = 0;
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Units {
  uvec4 v[];
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Fours {
  vec4 v[];
};
layout(push_constant) uniform Push {
  Floats x, up;
  Units to;       // [row][group of 32 columns][4], in the order of matrix.glsl
  Output scales;  // [row]
  uint rows, cols, parts, x_stride;
  uint groups;    // of 32 columns, of the result
  uint up_stride, kind;
} p;
shared float largest_of[kThreads / kLanes];

// Columns 32 group … of a row, as eight times four; zeros outside.
void load(Floats values, uint from, uint group, out vec4 x[8]) {
  const uint c = 32 * group;
  if ((from + c) % 4 == 0 && c + 32 <= p.cols) {
    Fours fours = Fours(uint64_t(values));
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

void main() {
  const uint thread = gl_LocalInvocationID.x, row = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  if (row >= p.rows) return;
  vec4 x[8];
  float largest = 0.0;
  for (uint group = thread; group < p.groups; group += kThreads) {
    load_row(row, group, x);
    for (uint j = 0; j < 8; ++j) {
      const vec4 size = abs(x[j]);
      largest = max(max(largest, max(size.x, size.y)), max(size.z, size.w));
    }
  }
  largest = subgroupMax(largest);
  if (subgroupElect()) largest_of[gl_SubgroupID] = largest;
  barrier();
  for (uint s = 0; s < kThreads / kLanes; ++s) largest = max(largest, largest_of[s]);
  // 2^n: n = 14 − the exponent of the largest; as it is where that is no number
  const int exponent = int(floatBitsToUint(largest) >> 23 & 255) - 127;
  const int n = exponent == 128 ? 0 : clamp(14 - exponent, -100, 100);
  const float factor = uintBitsToFloat(uint(127 + n) << 23);
  for (uint group = thread; group < p.groups; group += kThreads) {
    load_row(row, group, x);
    uvec4 unit[4];
    for (uint c = 0; c < 4; ++c) {
      const vec4 low = factor * x[2 * c], high = factor * x[2 * c + 1];
      unit[0][c] = packHalf2x16(low.xz);
      unit[1][c] = packHalf2x16(low.yw);
      unit[2][c] = packHalf2x16(high.xz);
      unit[3][c] = packHalf2x16(high.yw);
    }
    for (uint v = 0; v < 4; ++v) p.to.v[(row * p.groups + group) * 4 + v] = unit[v];
  }
  if (thread == 0) p.scales.v[row] = uintBitsToFloat(uint(127 - n) << 23);
}
