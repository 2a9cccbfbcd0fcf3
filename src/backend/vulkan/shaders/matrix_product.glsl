// The loop of a product by the matrix unit. Who includes it says where W comes from: PUSH_OF_W, BEGIN_W, LOAD_W(step) into
// variables of its own, TAKE_W(step) from these into `now`.
//
// A subgroup makes kRowTiles × kColumnTiles tiles: rows of W × rows of x. W goes from memory into the tiles' registers, x (to_halves.comp)
// through shared memory, both a step ahead. Each sum goes over the columns in their order, whatever the number of rows.
#ifdef USUAL
const uint kRowTiles = 2, kColumnTiles = USUAL;
#else
layout(constant_id = 6) const uint kRowTiles = 2;
layout(constant_id = 7) const uint kColumnTiles = 8;
#endif
layout(constant_id = 8) const uint kGrouped = 0;
const uint kDepth = 64, kDepthTiles = kDepth / kTileK;
const uint kColumns = kColumnTiles * kTileN;                 // rows of x that a workgroup multiplies
const uint kUnitsOfRow = kDepth / 8, kPitch = kUnitsOfRow + 1;  // of the rows of x in shared memory
const uint kLoads = kColumns * kUnitsOfRow / kThreads;
layout(push_constant) uniform Push {
  PUSH_OF_W
  Units x;
  Floats scales, bias;
  Output y;
  Ints tiles, order;
  uint rows, depth;  // of a matrix; columns with the zeros behind them
  uint tokens, y_stride, y_at;
  uint first, matrices;  // kGrouped: experts whose tiles are there
  uint used, own_input;
  uint bias_at, has_bias;
} p;
shared uvec4 memory[kColumns * kPitch];

#include "rows_by_expert.glsl"

void put(uint row, uint column, uint entry, float sum, uint bias_at) {
  if (column >= count || row >= p.rows) return;
  sum *= p.scales.v[x_row(entry)];
  if (p.has_bias != 0) sum += p.bias.v[bias_at + row];
  p.y.v[y_place(entry) + p.y_at + row] = sum;
}

void main() {
  const uint thread = gl_LocalInvocationID.x, sub = gl_SubgroupID, lane = gl_SubgroupInvocationID;
  uint expert;
  if (!find_rows(kColumns, expert)) return;
  if (kGrouped != 0 && (expert < p.first || expert >= p.first + p.matrices)) return;
  const uint matrix = kGrouped != 0 ? expert - p.first : 0;
  const uint first_tile = (gl_WorkGroupID.x * kSubgroups + sub) * kRowTiles;
  BEGIN_W
  uint x_at[kLoads], to[kLoads];
  [[unroll]] for (uint i = 0; i < kLoads; ++i) {
    const uint u = thread + i * kThreads, column = u / kUnitsOfRow;
    x_at[i] = x_row(entry_of(min(column, count - 1))) * (p.depth / 8) + u % kUnitsOfRow;
    to[i] = column * kPitch + u % kUnitsOfRow;
  }

  MatrixC sum[kRowTiles][kColumnTiles];
  [[unroll]] for (uint i = 0; i < kRowTiles; ++i) {
    [[unroll]] for (uint j = 0; j < kColumnTiles; ++j) sum[i][j] = MatrixC(0.0);
  }
  uvec4 next_x[kLoads], now[kRowTiles][kDepthTiles * kUnits];
#define LOAD_X(step) [[unroll]] for (uint i = 0; i < kLoads; ++i) next_x[i] = p.x.v[x_at[i] + (step) * kUnitsOfRow];
#define STORE_X [[unroll]] for (uint i = 0; i < kLoads; ++i) memory[to[i]] = next_x[i];

  const uint steps = p.depth / kDepth;
  LOAD_W(0)
  LOAD_X(0)
  STORE_X
  barrier();
  for (uint step = 0; step < steps; ++step) {
    TAKE_W(step)
    const uint after = min(step + 1, steps - 1);  // no branch: the last step loads once too often
    LOAD_W(after)
    LOAD_X(after)
    [[unroll]] for (uint k = 0; k < kDepthTiles; ++k) {
      MatrixA a[kRowTiles];
      [[unroll]] for (uint i = 0; i < kRowTiles; ++i) {
        [[unroll]] for (uint u = 0; u < kUnits; ++u) {
          const uvec4 words = now[i][k * kUnits + u];
          put_units(a[i], u, words)
        }
      }
      [[unroll]] for (uint j = 0; j < kColumnTiles; ++j) {
        MatrixB b;
        coopMatLoad(b, memory, j * kTileN * kPitch + k * kTileK / 8, kPitch, gl_CooperativeMatrixLayoutColumnMajor);
        [[unroll]] for (uint i = 0; i < kRowTiles; ++i) sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);
      }
    }
    barrier();
    STORE_X
    barrier();
  }

  // Each lane writes the sums that it holds: to store tiles into shared memory would cost nine tenths of the speed (NVIDIA keeps
  // tiles in memory from the start where one is stored there).
  const uint mine = place_of_lane(lane), bias_at = kGrouped != 0 ? expert * p.rows : p.bias_at;
  [[unroll]] for (uint j = 0; j < kColumnTiles; ++j) {
    [[unroll]] for (uint e = 0; e < kComponents; ++e) {
      const uint place = mine | place_of_component(e), column = j * kTileN + place % 256;
      const uint entry = entry_of(min(column, count - 1));
      [[unroll]] for (uint i = 0; i < kRowTiles; ++i)
        put((first_tile + i) * kTileM + place / 256, column, entry, sum[i][j][e], bias_at);
    }
  }
}
