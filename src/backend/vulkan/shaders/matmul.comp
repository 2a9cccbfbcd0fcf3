#version 460
// y = x Wᵀ (+ bias). A subgroup makes one row of W for up to four rows of x.
//   kPlain    linear, lm_head: x [T, cols]
//   kHeads    row n reads the part n / out of x [T, heads · cols]
//   kExperts  y [T, used · out]: slot j of row t is rows [e · out, …) of W of its expert e = route[t][j]
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "block.glsl"
#include "lanes.glsl"
layout(constant_id = 1) const uint kMode = 0;
const uint kPlain = 0, kHeads = 1, kExperts = 2, kTokens = 4;
layout(push_constant) uniform Push {
  Bytes w, grid_table;
  Floats x, bias, route;
  Output y;
  uint row_bytes, cols, rows;  // rows: of y (kExperts: of one slot)
  uint tokens, x_stride, y_stride, route_stride;
  uint first, run, stride;  // which rows of the tensor
  uint out_rows;            // kHeads: of a head
  uint has_bias, own_input;
} p;
uint tensor_row(uint r) { return p.run == 0 ? p.first + r : p.first + r / p.run * p.stride + r % p.run; }

void main() {
  grid = p.grid_table;
  const uint lane = gl_LocalInvocationID.x;
  const uint slot = kMode == kExperts ? gl_WorkGroupID.z : 0;
  const uint t0 = gl_WorkGroupID.y * (kMode == kExperts ? 1 : kTokens);
  const uint count = kMode == kExperts ? 1 : min(kTokens, p.tokens - t0);
  for (uint n = gl_WorkGroupID.x; n < p.rows; n += gl_NumWorkGroups.x) {
    uint row = n, column = 0;
    if (kMode == kHeads) column = n / p.out_rows * p.cols;
    if (kMode == kExperts) {
      row = uint(p.route.v[t0 * p.route_stride + slot]) * p.rows + n;
      column = p.own_input != 0 ? slot * p.cols : 0;
    }
    const uint64_t at = uint64_t(p.w) + uint64_t(tensor_row(row)) * p.row_bytes;
    float sum[kTokens] = float[](0.0, 0.0, 0.0, 0.0);
    for (uint k = 8 * lane; k + 7 < p.cols; k += 8 * kLanes) {
      float w[8];
      eight_of(at, k, w);
      for (uint t = 0; t < count; ++t) {
        const uint x = (t0 + t) * p.x_stride + column + k;
        for (uint j = 0; j < 8; ++j) sum[t] += w[j] * p.x.v[x + j];
      }
    }
    for (uint k = p.cols / 8 * 8 + lane; k < p.cols; k += kLanes) {
      const float w = value_of(at, k);
      for (uint t = 0; t < count; ++t) sum[t] += w * p.x.v[(t0 + t) * p.x_stride + column + k];
    }
    const float bias = p.has_bias != 0 ? p.bias.v[row] : 0.0;
    for (uint t = 0; t < count; ++t) {
      const float total = subgroupAdd(sum[t]) + bias;
      if (subgroupElect()) p.y.v[(t0 + t) * p.y_stride + slot * p.rows + n] = total;
    }
  }
}
