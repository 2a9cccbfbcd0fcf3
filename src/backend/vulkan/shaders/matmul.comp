#version 460
// y = x Wᵀ (+ bias). A subgroup makes kRows rows of W for kTokens rows of x: what is loaded of x serves all rows. Each
// sum goes over lanes and columns in one order, whatever these are.
//   kPlain    linear, lm_head: x [T, cols]
//   kHeads    row n reads the part n / out of x [T, heads · cols]
//   kExperts  y [T, used · out]: slot j of row t is rows [e · out, …) of W of its expert e = route[t][j]
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "block.glsl"
#include "lanes.glsl"
layout(constant_id = 1) const uint kMode = 0;
layout(constant_id = 2) const uint kRows = 1;
layout(constant_id = 3) const uint kTokens = 1;
const uint kPlain = 0, kHeads = 1, kExperts = 2;
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
uint tensor_row(uint r) { return row_of_slice(r, p.first, p.run, p.stride); }

// Row n of y as a row of W's part that the step reads, and where its input begins.
void place(uint n, uint t, uint slot, out uint row, out uint column) {
  row = n;
  column = 0;
  if (kMode == kHeads) column = n / p.out_rows * p.cols;
  if (kMode == kExperts) {
    row = uint(p.route.v[t * p.route_stride + slot]) * p.rows + n;
    column = p.own_input != 0 ? slot * p.cols : 0;
  }
}

void main() {
  grid = p.grid_table;
  const uint lane = gl_LocalInvocationID.x;
  const uint slot = kMode == kExperts ? gl_WorkGroupID.z : 0;
  const uint t0 = gl_WorkGroupID.y * kTokens;
  for (uint n0 = gl_WorkGroupID.x * kRows; n0 < p.rows; n0 += gl_NumWorkGroups.x * kRows) {
    uint64_t at[kRows];
    uint row[kRows], column = 0;
    for (uint r = 0; r < kRows; ++r) {  // the last row again where there are no more
      place(min(n0 + r, p.rows - 1), t0, slot, row[r], column);
      at[r] = uint64_t(p.w) + uint64_t(tensor_row(row[r])) * p.row_bytes;
    }
    float sum[kRows][kTokens];
    for (uint r = 0; r < kRows; ++r) {
      for (uint t = 0; t < kTokens; ++t) sum[r][t] = 0.0;
    }
    for (uint k = 8 * lane; k + 7 < p.cols; k += 8 * kLanes) {
      float x[kTokens][8];
      for (uint t = 0; t < kTokens; ++t) {
        const uint from = min(t0 + t, p.tokens - 1) * p.x_stride + column + k;
        for (uint j = 0; j < 8; ++j) x[t][j] = p.x.v[from + j];
      }
      for (uint r = 0; r < kRows; ++r) {
        float w[8];
        eight_of(at[r], k, w);
        for (uint t = 0; t < kTokens; ++t) {
          for (uint j = 0; j < 8; ++j) sum[r][t] += w[j] * x[t][j];
        }
      }
    }
    for (uint k = p.cols / 8 * 8 + lane; k < p.cols; k += kLanes) {
      for (uint r = 0; r < kRows; ++r) {
        const float w = value_of(at[r], k);
        for (uint t = 0; t < kTokens; ++t)
          sum[r][t] += w * p.x.v[min(t0 + t, p.tokens - 1) * p.x_stride + column + k];
      }
    }
    for (uint r = 0; r < kRows; ++r) {
      const float bias = p.has_bias != 0 ? p.bias.v[row[r]] : 0.0;
      for (uint t = 0; t < kTokens; ++t) {
        const float total = subgroupAdd(sum[r][t]) + bias;
        if (subgroupElect() && n0 + r < p.rows && t0 + t < p.tokens)
          p.y.v[(t0 + t) * p.y_stride + slot * p.rows + n0 + r] = total;
      }
    }
  }
}
