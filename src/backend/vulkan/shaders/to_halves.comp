#version 460
// Rows of x as f16 for the matrix unit: multiplied by the power of two that brings the row's largest value to 2^14 … 2^15
// (so nothing overflows), zeros behind the row's end. `scales` gets what undoes it. A workgroup makes a row.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "common.glsl"
#include "prompt_rows.glsl"
layout(local_size_x_id = 1) in;
layout(constant_id = 0) const uint kLanes = 32;
layout(constant_id = 1) const uint kThreads = 128;
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer Units {
  uvec4 v[];  // [row][group of 32 columns][4], in the order of matrix.glsl
};
shared float largest_of[kThreads / kLanes];

void main() {
  const uint thread = gl_LocalInvocationID.x, row = row_of_group();
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
    for (uint v = 0; v < 4; ++v) Units(p.to).v[(row * p.groups + group) * 4 + v] = unit[v];
  }
  if (thread == 0) Output(p.scales).v[row] = uintBitsToFloat(uint(127 - n) << 23);
}
