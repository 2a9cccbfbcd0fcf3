#version 460
// y = x Wᵀ (+ bias) for many rows of x in int8 (to_int8.comp), by packed dot products. A workgroup makes kRows rows of W for
// kInputs rows of x: units of 32 columns go through shared memory, kDeep of them at a time, W's decoded there once, while the
// next ones are loaded. A thread makes 4 × 4 sums. Each goes over the units in their order, whatever the number of rows and
// the size of the tile, so that its bits are its own.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "block.glsl"
#include "unit_types.glsl"
// Both at least 32, and a sixteenth of their product threads, so that each brings one unit of each at most.
layout(constant_id = 2) const uint kRows = 64;
layout(constant_id = 3) const uint kInputs = 64;
layout(constant_id = 4) const uint kGrouped = 0;
layout(push_constant) uniform Push {
  uint64_t w;
  Bytes grid_table;
  uint64_t codes, pairs;  // of x: rows of whole units
  Floats bias;
  Output y;
  Ints tiles, order;
  uint row_bytes, units;    // of a row
  uint rows, tokens;        // rows: of W, or of an expert's
  uint y_stride;
  uint used, own_input;
  uint has_bias;
  uint first, run, stride;  // which rows of the tensor
} p;
#include "rows_by_expert.glsl"

const uint kDeep = 2, kOwn = 4;
const uint kRowStep = kRows / kOwn, kInputStep = kInputs / kOwn;  // between the rows of a thread
// In shared memory row stands by row, so that neighbours read neighbours; two more keep the writers of a row's units apart.
const uint kRowPitch = kRows + 2, kInputPitch = kInputs + 2;
// Of a unit of W: scales of both sixteens, then what is taken off them; of x: scales, then scales · sums of codes.
#ifdef NO_LOWS
#define Meta vec2
#define meta_of(a, b) (a)
#else
#define Meta vec4
#define meta_of(a, b) vec4(a, b)
#endif
shared uvec4 w_codes[2 * kDeep * kRowPitch], x_codes[2 * kDeep * kInputPitch];  // first sixteens of all units, then the second
shared Meta w_meta[kDeep * kRowPitch], x_meta[kDeep * kInputPitch];

// A unit of x as it is loaded.
struct Input {
  uvec4 first, second;
  uvec2 pairs[2];
};
Input load_input(uint64_t codes, uint64_t pairs, uint u) {
  const uint a = first_16(u), b = second_16(u);
  Input x;
  x.first = Quads(codes).v[a];
  x.second = Quads(codes).v[b];
  x.pairs[0] = Pairs(pairs).v[a / 2];
  x.pairs[1] = Pairs(pairs).v[b / 2];
  return x;
}

// What is not there counts nothing, whatever its codes.
void stage_weight(Raw raw, uint u, uint row, uint d, bool there) {
  const Unit unit = decode_unit(raw, u);
  w_codes[d * kRowPitch + row] = unit.first;
  w_codes[(kDeep + d) * kRowPitch + row] = unit.second;
  w_meta[d * kRowPitch + row] = there ? meta_of(unit.scale, unit.low) : Meta(0.0);
}
void stage_input(Input x, uint u, uint row, uint d, bool there) {
  const vec2 scale = vec2(scale_of(x.pairs[0]), scale_of(x.pairs[1]));
  const vec2 sum = vec2(sum_of(x.pairs[0], first_16(u) % 2), sum_of(x.pairs[1], second_16(u) % 2));
  x_codes[d * kInputPitch + row] = x.first;
  x_codes[(kDeep + d) * kInputPitch + row] = x.second;
  x_meta[d * kInputPitch + row] = there ? meta_of(scale, scale * sum) : Meta(0.0);
}

float sums[kOwn][kOwn];  // [row of x][row of W]

// The sums of one half of unit d; `row`, `column`: the first ones of the thread.
void multiply(uint d, uint half_of_unit, uint row, uint column, Meta w[kOwn], Meta x[kOwn]) {
  const uint plane = half_of_unit * kDeep + d;
  uvec4 a[kOwn];
  [[unroll]] for (uint j = 0; j < kOwn; ++j) a[j] = w_codes[plane * kRowPitch + row + j * kRowStep];
  [[unroll]] for (uint i = 0; i < kOwn; ++i) {
    const uvec4 b = x_codes[plane * kInputPitch + column + i * kInputStep];
    [[unroll]] for (uint j = 0; j < kOwn; ++j) {
      precise float sum = sums[i][j];
      sum = fma(w[j][half_of_unit] * x[i][half_of_unit], float(dot_of_words(a[j], b)), sum);
      sums[i][j] = sum;
    }
  }
}
void take_lows(Meta w[kOwn], Meta x[kOwn]) {
#ifndef NO_LOWS
  [[unroll]] for (uint i = 0; i < kOwn; ++i) {
    [[unroll]] for (uint j = 0; j < kOwn; ++j) {
      precise float sum = sums[i][j];
      sum = fma(-w[j].z, x[i].z, sum);
      sum = fma(-w[j].w, x[i].w, sum);
      sums[i][j] = sum;
    }
  }
#endif
}
void multiply_staged(uint row, uint column) {
  [[unroll]] for (uint d = 0; d < kDeep; ++d) {
    Meta w[kOwn], x[kOwn];
    [[unroll]] for (uint j = 0; j < kOwn; ++j) w[j] = w_meta[d * kRowPitch + row + j * kRowStep];
    [[unroll]] for (uint i = 0; i < kOwn; ++i) x[i] = x_meta[d * kInputPitch + column + i * kInputStep];
    multiply(d, 0, row, column, w, x);
    multiply(d, 1, row, column, w, x);
    take_lows(w, x);
  }
}

void store(uint expert, uint first_row, uint first_column) {
  [[unroll]] for (uint i = 0; i < kOwn; ++i) {
    const uint column = first_column + i * kInputStep;
    if (column >= count) break;
    const uint at = y_place(entry_of(column));
    [[unroll]] for (uint j = 0; j < kOwn; ++j) {
      const uint row = first_row + j * kRowStep;
      if (row >= p.rows) break;
      p.y.v[at + row] = sums[i][j] + (p.has_bias != 0 ? p.bias.v[expert * p.rows + row] : 0.0);
    }
  }
}

void main() {
  grid = p.grid_table;
  uint expert;
  if (!find_rows(kInputs, expert)) return;
  const uint thread = thread_index(), back = kThreads - 1 - thread, first_row = gl_WorkGroupID.x * kRows;
  // The unit of W, and from the other end of the threads that of x, which the thread brings of each kDeep.
  const bool brings_w = thread < kDeep * kRows, brings_x = back < kDeep * kInputs;
  const uint w_row = min(first_row + thread / kDeep, p.rows - 1);
  const uint64_t w_at = p.w + uint64_t(row_of_slice(expert * p.rows + w_row, p.first, p.run, p.stride)) * p.row_bytes;
  const uint source = x_row(entry_of(min(back / kDeep, count - 1)));
  const uint64_t codes = p.codes + uint64_t(source) * p.units * 32, pairs = p.pairs + uint64_t(source) * p.units * 8;
  const uint row = thread % kRowStep, column = thread / kRowStep;

  [[unroll]] for (uint i = 0; i < kOwn; ++i) {
    [[unroll]] for (uint j = 0; j < kOwn; ++j) sums[i][j] = 0.0;
  }
  Raw raw;
  Input x;
  const uint last = p.units - 1;
  if (brings_w) raw = load_unit(w_at, min(thread % kDeep, last));
  if (brings_x) x = load_input(codes, pairs, min(back % kDeep, last));
  for (uint begin_u = 0; begin_u < p.units; begin_u += kDeep) {
    const uint u_of_w = begin_u + thread % kDeep, u_of_x = begin_u + back % kDeep;
    if (brings_w) stage_weight(raw, min(u_of_w, last), thread / kDeep, thread % kDeep, u_of_w <= last);
    if (brings_x) stage_input(x, min(u_of_x, last), back / kDeep, back % kDeep, u_of_x <= last);
    barrier();
    // The last turn loads once too often, which no branch is dearer than.
    if (brings_w) raw = load_unit(w_at, min(u_of_w + kDeep, last));
    if (brings_x) x = load_input(codes, pairs, min(u_of_x + kDeep, last));
    multiply_staged(row, column);
    barrier();
  }
  store(expert, first_row + row, column);
}
