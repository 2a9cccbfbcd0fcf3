#version 460
// y = x Wᵀ (+ bias) in f32 for many rows of x: a workgroup makes kTile rows of W for kTile rows of x, 32 columns at a time
// through shared memory; a thread 4 of W for kOwn of x, each result summed in the order of the columns.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "block.glsl"
layout(local_size_x_id = 1) in;  // 4 · kTile
layout(constant_id = 2) const uint kTile = 64;
const uint kDepth = 32, kOwn = kTile / 16;
layout(push_constant) uniform Push {
  Bytes w, grid_table;
  Floats x, bias;
  Output y;
  uint row_bytes, cols, rows, tokens, x_stride, y_stride;
  uint first, run, stride;  // which rows of the tensor
  uint has_bias;
} p;
shared float ws[kDepth][kTile + 1], xs[kDepth][kTile + 1];

uint tensor_row(uint r) { return row_of_slice(r, p.first, p.run, p.stride); }

// Each thread eight columns of one row of W and of one row of x; zeros outside.
void load(uint n, uint t, uint k) {
  const uint thread = gl_LocalInvocationID.x, row = thread / 4, column = thread % 4 * 8;
  float w[8];
  const bool has_row = n + row < p.rows;
  const uint64_t at = uint64_t(p.w) + uint64_t(tensor_row(has_row ? n + row : 0)) * p.row_bytes;
  if (has_row && k + column + 7 < p.cols) {
    eight_of(at, k + column, w);
  } else {
    for (uint j = 0; j < 8; ++j) w[j] = has_row && k + column + j < p.cols ? value_of(at, k + column + j) : 0.0;
  }
  for (uint j = 0; j < 8; ++j) {
    const bool inside = t + row < p.tokens && k + column + j < p.cols;
    ws[column + j][row] = w[j];
    xs[column + j][row] = inside ? p.x.v[(t + row) * p.x_stride + k + column + j] : 0.0;
  }
}

void main() {
  grid = p.grid_table;
  const uint n = gl_WorkGroupID.x * kTile, t = gl_WorkGroupID.y * kTile;
  const uint n4 = gl_LocalInvocationID.x % (kTile / 4) * 4, t4 = gl_LocalInvocationID.x / (kTile / 4) * kOwn;
  float sum[kOwn][4];
  for (uint i = 0; i < kOwn; ++i) {
    for (uint j = 0; j < 4; ++j) sum[i][j] = 0.0;
  }
  for (uint k = 0; k < p.cols; k += kDepth) {
    load(n, t, k);
    barrier();
    for (uint d = 0; d < kDepth; ++d) {
      float a[kOwn], b[4];
      for (uint i = 0; i < kOwn; ++i) a[i] = xs[d][t4 + i];
      for (uint j = 0; j < 4; ++j) b[j] = ws[d][n4 + j];
      for (uint i = 0; i < kOwn; ++i) {
        for (uint j = 0; j < 4; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    barrier();
  }
  for (uint i = 0; i < kOwn; ++i) {
    for (uint j = 0; j < 4; ++j) {
      const uint row = n + n4 + j;
      if (t + t4 + i >= p.tokens || row >= p.rows) continue;
      p.y.v[(t + t4 + i) * p.y_stride + row] = sum[i][j] + (p.has_bias != 0 ? p.bias.v[row] : 0.0);
    }
  }
}
