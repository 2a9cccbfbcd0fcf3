#version 460
// Rows of a quantized matrix as f16 tiles of the matrix unit, [row tile][column tile][lane][kUnits]; zeros outside. A
// subgroup makes the tiles of kGroups · 32 columns of one row tile. gl_WorkGroupID.z counts matrices (experts) of `rows` rows each.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "block.glsl"
#include "matrix.glsl"
const uint kGroups = 8, kGroupTiles = 32 / kTileK, kTileUnits = kTileK / 8;
layout(push_constant) uniform Push {
  Bytes w, grid_table;
  Units to;
  Ints counts;  // of each expert's rows of x in this step; where nobody chose it there is nothing to do
  uint row_bytes, cols, rows, begin;
  uint row_tiles, column_tiles;
  uint first, run, stride;
  uint has_counts;
} p;
shared uvec4 stage[kSubgroups * kTileM * 4];  // of 32 columns, in the order of matrix.glsl

uint tensor_row(uint r) { return row_of_slice(r, p.first, p.run, p.stride); }

// Columns k … k + 7 as pairs.
uvec4 eight_halves(uint r, uint k) {
  float y[8];
  for (uint j = 0; j < 8; ++j) y[j] = 0.0;
  if (r < p.rows) {
    const uint row = p.begin + gl_WorkGroupID.z * p.rows + r;
    const uint64_t at = uint64_t(p.w) + uint64_t(tensor_row(row)) * p.row_bytes;
    if (k + 8 <= p.cols) {
      eight_of(at, k, y);
    } else {
      for (uint j = 0; j < 8 && k + j < p.cols; ++j) y[j] = value_of(at, k + j);
    }
  }
  return uvec4(packHalf2x16(vec2(y[0], y[2])), packHalf2x16(vec2(y[1], y[3])), packHalf2x16(vec2(y[4], y[6])),
               packHalf2x16(vec2(y[5], y[7])));
}

void main() {
  grid = p.grid_table;
  if (p.has_counts != 0 && p.counts.v[gl_WorkGroupID.z] == 0) return;
  const uint row_tile = gl_WorkGroupID.x * kSubgroups + gl_SubgroupID, lane = gl_SubgroupInvocationID;
  if (row_tile >= p.row_tiles) return;
  const uint from = gl_SubgroupID * kTileM * 4;
  const uint64_t tiles = uint64_t(gl_WorkGroupID.z * p.row_tiles + row_tile) * p.column_tiles;
  Units to = Units(uint64_t(p.to) + tiles * (16 * kLanes * kUnits));
  for (uint i = 0; i < kGroups; ++i) {
    const uint group = gl_WorkGroupID.y * kGroups + i;
    if (group * kGroupTiles >= p.column_tiles) return;
    for (uint u = lane; u < kTileM * 4; u += kLanes) {
      const uvec4 pairs = eight_halves(row_tile * kTileM + u / 4, group * 32 + u % 4 * 8);
      for (uint v = 0; v < 4; ++v) stage[from + u / 4 * 4 + v][u % 4] = pairs[v];
    }
    meet_lanes();
    [[unroll]] for (uint k = 0; k < kGroupTiles; ++k) {
      MatrixA tile;
      coopMatLoad(tile, stage, from + k * kTileUnits, 4, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint u = 0; u < kUnits; ++u)
        to.v[((group * kGroupTiles + k) * kLanes + lane) * kUnits + u] = take_units(tile, u);
    }
    meet_lanes();
  }
}
