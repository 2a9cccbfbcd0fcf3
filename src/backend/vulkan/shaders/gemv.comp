#version 460
// y = x Wᵀ for up to eight rows of x in int8. A subgroup makes one row of W after another, a lane one unit of 32 values
// after another; what comes next is loaded while the present is multiplied. Each sum goes over lanes and units in one
// order, whatever the number of rows, so that their bits are their own.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "block.glsl"
#include "unit_types.glsl"
layout(constant_id = 2) const uint kCols = 32;
layout(constant_id = 3) const uint kTokens = 1;    // rows of x of a workgroup
layout(constant_id = 4) const uint kEpilogue = 0;  // what becomes of the sums
// 0: W is one; 1: an expert a slot; 2: and a slot has its own x; 3: a row reads the part of x of its head
layout(constant_id = 5) const uint kExperts = 0;
layout(constant_id = 6) const uint kAct = 0;       // ActKind of the epilogues with two products
layout(constant_id = 7) const uint kStaged = 0;    // x is kept in shared memory
const uint kPlain = 0, kSum = 1, kGlu = 2, kGluInt8 = 3;
const uint kOwnInput = 2, kHeads = 3;
layout(push_constant) uniform Push {
  uint64_t w, up;      // of its slice's first row
  Bytes grid_table;
  uint64_t x, x_more;  // codes and pairs
  uint64_t bias, other;  // of the product; kSum: what is added; kGlu…: the bias of up
  uint64_t y, y_more;  // f32; kGluInt8: codes and pairs
  Floats route;        // kExperts
  uint row_bytes, rows;  // rows: of y; kExperts: of a slot
  uint tokens, passes;   // rows of W that a subgroup makes
  uint strides_x;        // of x in 16 bytes; of pairs in 16 pairs, · 65536
  uint strides_y;        // of y in 16 values; of other, or of y's pairs, in 16 values, · 65536
  uint run, stride;      // of the slice
  uint route_stride;     // 3: rows of a head
} p;

// A unit is 32 values of a row; a turn, one unit for each lane.
const uint kUnits = kCols / 32, kTurns = (kUnits + kLanes - 1) / kLanes;
const uint kDeep = kTurns > 1 ? 2 : 1;                     // units of a lane that are loaded together
const uint kRowParts = (kTurns + kDeep - 1) / kDeep;       // loads of a row
const bool kWhole = kUnits % (kLanes * kDeep) == 0;
const bool kTwo = kEpilogue >= kGlu;                       // rows of W come in pairs: gate, up
const uint kSixteens = kCols / 16;
// Of a row: the first 16 codes of all units, then their second; scales of the first, of the second, sums of both.
shared uvec4 staged_codes[kStaged != 0 ? kTokens * kSixteens : 1];
shared float staged_meta[kStaged != 0 ? 4 * kTokens * kUnits : 1];
shared float made[kEpilogue == kGluInt8 ? 32 * kTokens : 1];

uint lane, first_token, slot, expert_row;
uint64_t x_at, meta_at;
float sums[kTokens], gates[kTokens];

uint x_stride() { return (p.strides_x & 65535) * 16; }            // bytes
uint meta_stride() { return (p.strides_x >> 16) * 16; }
uint y_stride() { return (p.strides_y & 65535) * 16; }
uint other_stride() { return (p.strides_y >> 16) * 16; }

uint64_t codes_row(uint t) { return x_at + uint64_t(min(first_token + t, p.tokens - 1) * x_stride()); }
uint64_t meta_row(uint t) { return meta_at + uint64_t(min(first_token + t, p.tokens - 1) * meta_stride()) * 8; }

// Sixteens a and b of a row: scales of both, then sums of both.
vec4 meta_of(uint64_t row, uint a, uint b) {
  const uvec2 one = Pairs(row).v[a / 2], two = Pairs(row).v[b / 2];
  return vec4(scale_of(one), scale_of(two), float(sum_of(one, a % 2)), float(sum_of(two, b % 2)));
}

// ---- what x is

// What a thread stages of int8 rows: loaded before the first of W, kept behind it.
const uint kCodeTurns = kStaged != 0 ? (kTokens * kSixteens + kThreads - 1) / kThreads : 1;
const uint kMetaTurns = kStaged != 0 ? (kTokens * kUnits + kThreads - 1) / kThreads : 1;
void load_int8(out uvec4 codes[kCodeTurns], out vec4 meta[kMetaTurns]) {
  [[unroll]] for (uint j = 0; j < kCodeTurns; ++j) {
    const uint i = min(thread_index() + j * kThreads, kTokens * kSixteens - 1), at = i % kSixteens;
    codes[j] = Quads(codes_row(i / kSixteens)).v[at < kUnits ? first_16(at) : second_16(at - kUnits)];
  }
  [[unroll]] for (uint j = 0; j < kMetaTurns; ++j) {
    const uint i = min(thread_index() + j * kThreads, kTokens * kUnits - 1), u = i % kUnits;
    meta[j] = meta_of(meta_row(i / kUnits), first_16(u), second_16(u));
  }
}
void stage_int8(uvec4 codes[kCodeTurns], vec4 meta[kMetaTurns]) {
  [[unroll]] for (uint j = 0; j < kCodeTurns; ++j) {
    const uint i = thread_index() + j * kThreads;
    if (i < kTokens * kSixteens) staged_codes[i] = codes[j];
  }
  [[unroll]] for (uint j = 0; j < kMetaTurns; ++j) {
    const uint i = thread_index() + j * kThreads;
    if (i >= kTokens * kUnits) break;
    [[unroll]] for (uint k = 0; k < 4; ++k) staged_meta[(i / kUnits * 4 + k) * kUnits + i % kUnits] = meta[j][k];
  }
}
// ---- rows of W

// Which row of y the subgroup makes as its number `pass`.
uint row_of_pass(uint pass) { return (gl_WorkGroupID.x * p.passes + pass) * kSubgroups + gl_SubgroupID; }

uint64_t address_of(uint pass) {
  const uint n = min(row_of_pass(kTwo ? pass / 2 : pass), p.rows - 1);
  const uint64_t from = kTwo && pass % 2 == 1 ? p.up : p.w;
  return from + uint64_t(row_of_slice(expert_row + n, 0, p.run, p.stride)) * p.row_bytes;
}

void load_part(uint part, out Raw raw[2]) {
  const uint64_t row = address_of(part / kRowParts);
  [[unroll]] for (uint i = 0; i < kDeep; ++i) {
    const uint u = (part % kRowParts * kDeep + i) * kLanes + lane;
    raw[i] = load_unit(row, kWhole ? u : min(u, kUnits - 1));
  }
}

void multiply_part(uint part, Raw raw[2]) {
  const uint head = kExperts == kHeads ? min(row_of_pass(part / kRowParts), p.rows - 1) / p.route_stride : 0;
  [[unroll]] for (uint i = 0; i < kDeep; ++i) {
    const uint u = (part % kRowParts * kDeep + i) * kLanes + lane;
    if (!kWhole && u >= kUnits) continue;
    const Unit w = decode_unit(raw[i], u);
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      uvec4 first, second;
      vec4 meta;
      if (kStaged != 0) {
        first = staged_codes[t * kSixteens + u];
        second = staged_codes[t * kSixteens + kUnits + u];
        [[unroll]] for (uint k = 0; k < 4; ++k) meta[k] = staged_meta[(t * 4 + k) * kUnits + u];
      } else {
        const uint a = head * kSixteens + first_16(u), b = head * kSixteens + second_16(u);
        first = Quads(codes_row(t)).v[a];
        second = Quads(codes_row(t)).v[b];
        meta = meta_of(meta_row(t), a, b);
      }
      precise float sum = sums[t];
      sum = fma(w.scale.x * meta.x, float(dot_of_words(w.first, first)), sum);
      sum = fma(w.scale.y * meta.y, float(dot_of_words(w.second, second)), sum);
#ifndef NO_LOWS
      sum = fma(-w.low.x * meta.x, meta.z, sum);
      sum = fma(-w.low.y * meta.y, meta.w, sum);
#endif
      sums[t] = sum;
    }
  }
}

// ---- what becomes of a sum

float bias_of(uint64_t biases, uint n) { return Floats(biases).v[expert_row + min(n, p.rows - 1)]; }
float glu_of(float gate, float up) {
  if (kAct == kClampedSwiglu) up = (isnan(up) ? up : clamp(up, -7.0, 7.0)) + 1.0;
  return activate(kAct, gate) * up;
}

void finish_row(uint pass) {
  const uint n = row_of_pass(kTwo ? pass / 2 : pass);
  const bool is_gate = kTwo && pass % 2 == 0;
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    precise float y = subgroupAdd(sums[t]);
    sums[t] = 0.0;
    const uint64_t biases = kTwo && !is_gate ? p.other : p.bias;
    if (biases != 0) y += bias_of(biases, n);
    if (is_gate) {
      gates[t] = y;
      continue;
    }
    if (kTwo) y = glu_of(gates[t], y);
    const uint row = first_token + t;
    if (kEpilogue == kGluInt8) {
      if (lane == 0) made[t * 32 + n % 32] = n < p.rows ? y : 0.0;
      continue;
    }
    if (lane != 0 || n >= p.rows || row >= p.tokens) continue;
    if (kEpilogue == kSum) y += Floats(p.other).v[row * other_stride() + n];
    Output(p.y).v[row * y_stride() + slot * p.rows + n] = y;
  }
}

// A workgroup makes 32 values of each row.
void store_int8() {
  barrier();
  const uint t = thread_index(), row = first_token + t;
  if (t >= kTokens || row >= p.tokens) return;
  vec4 x[8];
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    [[unroll]] for (uint j = 0; j < 4; ++j) x[i][j] = made[t * 32 + 4 * i + j];
  }
  const Quantized32 q = quantize(x);
  const uint block = slot * (p.rows / 32) + gl_WorkGroupID.x;
  QuadsOut codes = QuadsOut(p.y + uint64_t(row * y_stride()));
  codes.v[2 * block] = q.codes[0];
  codes.v[2 * block + 1] = q.codes[1];
  PairsOut(p.y_more).v[row * other_stride() + block] = q.meta;
}

void main() {
  grid = p.grid_table;
  const bool is_expert = kExperts != 0 && kExperts != kHeads;
  lane = gl_SubgroupInvocationID;
  first_token = gl_WorkGroupID.y * kTokens;
  slot = is_expert ? gl_WorkGroupID.z : 0;
  expert_row = is_expert ? uint(p.route.v[first_token * p.route_stride + slot]) * p.rows : 0;
  x_at = p.x + (kExperts == kOwnInput ? slot * kCols : 0);
  meta_at = p.x_more + (kExperts == kOwnInput ? slot * (kCols / 32) * 8 : 0);
  [[unroll]] for (uint t = 0; t < kTokens; ++t) sums[t] = 0.0;
  const uint parts = (kTwo ? 2 * p.passes : p.passes) * kRowParts;
  Raw here[2], next[2];
  uvec4 codes[kCodeTurns];
  vec4 meta[kMetaTurns];
  if (kStaged != 0) load_int8(codes, meta);
  load_part(0, here);
  if (parts > 1) load_part(1, next);
  if (kStaged != 0) {
    stage_int8(codes, meta);
    barrier();
  }
  for (uint part = 0; part < parts; part += 2) {
    multiply_part(part, here);
    if (part % kRowParts == kRowParts - 1) finish_row(part / kRowParts);
    if (part + 2 < parts) load_part(part + 2, here);
    if (part + 1 >= parts) break;
    multiply_part(part + 1, next);
    if ((part + 1) % kRowParts == kRowParts - 1) finish_row((part + 1) / kRowParts);
    if (part + 3 < parts) load_part(part + 3, next);
  }
  if (kEpilogue == kGluInt8) store_int8();
}
