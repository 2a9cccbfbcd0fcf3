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
// 0: W is one; 1: an expert a slot; 2: and a slot has its own x; 3: a row reads the part of x of its head; 4: as 2, and a
// row of y is the sum of all slots times their weights (moe_combine.comp)
layout(constant_id = 5) const uint kExperts = 0;
layout(constant_id = 6) const uint kAct = 0;       // ActKind of the epilogues with two products
layout(constant_id = 7) const uint kStaged = 0;    // x is kept in shared memory
layout(constant_id = 9) const uint kSlots = 1;     // kSummed: experts of a row
// The experts are chosen here, from the router's logits (route.glsl), by each workgroup for itself; the first ones leave the
// choice in `route`. Flags: 1: so it is, 2: weights are made to sum to one, 4: groups by their best two; · 8: the score.
layout(constant_id = 10) const uint kRouted = 0;
layout(constant_id = 11) const uint kRouteExperts = 1;
layout(constant_id = 12) const uint kRouteGroups = 1;
layout(constant_id = 13) const uint kGroupsUsed = 1;
layout(constant_id = 14) const uint kMinSumBits = 0;
layout(constant_id = 15) const uint kScaleBits = 0;
layout(constant_id = 16) const uint kSliced = 0;   // rows of W are a slice with gaps; 2: its run and stride share a number
layout(constant_id = 17) const uint kRagged = 1;   // the last workgroup may have fewer rows to make
layout(constant_id = 8) const uint kFolded = 0;    // scales of x lack their row's factor: sums are multiplied by it
// kSumInt8: the sum, and int8 codes of sum · gain that lack their row's factor, and of each 32 the sum of their squares
const uint kPlain = 0, kSum = 1, kGlu = 2, kGluInt8 = 3, kSumInt8 = 4;
const uint kOwnInput = 2, kHeads = 3, kSummed = 4;
// The sums are rows of a convolution (conv1d.comp) that is made here, of so many taps; 0: there is none. Its weights are
// `up`, its states `other` (of page 0), pages route_stride bytes apart; `route`: pairs_at parts; `y_more`: snapshots.
layout(constant_id = 18) const uint kTaps = 0;
layout(constant_id = 19) const uint kConvSilu = 0;
layout(constant_id = 20) const uint kDeep = 2;     // units of a lane that are loaded together
#define OVERLAP_ID 21
#include "overlap.glsl"
#include "conv.glsl"
#include "recurrent.glsl"
layout(push_constant) uniform Push {
  uint64_t w, up;      // of its slice's first row; kSumInt8: up is the gain, 0: none
  Bytes grid_table;
  uint64_t x, x_more;  // codes and pairs
  uint64_t bias, other;  // of the product; kSum…: what is added; kGlu…: the bias of up; kRouted: logits, bias of the choice
  uint64_t y, y_more;  // f32, and kSumInt8: codes (y is 0 where nothing else reads the sum); kGluInt8: codes and pairs
  Floats route;        // kExperts; kRouted: to be written
  uint row_bytes, rows;  // rows: of y; kExperts: of a slot
  uint tokens, passes;   // rows of W that a subgroup makes
  uint strides_x;        // of x in 16 bytes; of pairs in 16 pairs, · 65536
  uint strides_y;        // of y in 16 values; of other, or of y's pairs, in 16 values, · 65536; kSumInt8: of y and other; of codes
  uint run;              // of the slice; kSliced = 2: run and stride · 65536
  uint route_stride;     // 3: rows of a head
  float eps;
  uint squares_at;       // kFolded: sums of squares of x, from its pairs on, in bytes
  uint pairs_at;         // kSumInt8: from the codes on, in bytes; kRouted: values from row to row of logits
  uint stride;           // of the slice; kOverlap: bytes from the counter to x
} p;
#include "route.glsl"

// A unit is 32 values of a row; a turn, one unit for each lane.
const uint kUnits = kCols / 32;
// The rows of all slots follow one another as one long row.
const uint kRowUnits = kExperts == kSummed ? kSlots * kUnits : kUnits, kTurns = (kRowUnits + kLanes - 1) / kLanes;
const bool kOneTurn = kTurns == 1;                         // then units of several rows are loaded together
const uint kRowParts = (kTurns + kDeep - 1) / kDeep;       // loads of a row
const bool kWhole = kRowUnits % (kOneTurn ? kLanes : kLanes * kDeep) == 0;
const bool kTwo = kEpilogue == kGlu || kEpilogue == kGluInt8;     // rows of W come in pairs: gate, up
const bool kBlocks = kEpilogue == kGluInt8 || kEpilogue == kSumInt8;  // a workgroup makes 32 values of each row of y
const uint kSixteens = kCols / 16;
// Of a row: the first 16 codes of all units, then their second; of a unit, scales of the first, of the second, sums of both.
const uint kInputs = kTokens * kSlots;                     // rows of x of a workgroup: of a token one slot after another
shared uvec4 staged_codes[kStaged != 0 ? kInputs * kSixteens : 1];
shared vec4 staged_meta[kStaged != 0 ? kInputs * kUnits : 1];
shared uint slot_row[kSlots];
shared float slot_weight[kSlots];
// Sums of 32 rows, token by token; kGluInt8: of up, and behind them of gate.
const uint kMade = kEpilogue == kGluInt8 ? 64 : 32;
shared float made[kBlocks ? kMade * kTokens : 1];

uint lane, first_token, slot, expert_row;
uint64_t x_at, meta_at;
float sums[kTokens], gates[kTokens], factors[kTokens];

uint64_t counter() { return p.x - p.stride; }
uint x_stride() { return (p.strides_x & 65535) * 16; }            // bytes
uint meta_stride() { return (p.strides_x >> 16) * 16; }
uint y_stride() { return (p.strides_y & 65535) * 16; }
uint other_stride() { return (p.strides_y >> 16) * 16; }

uint token_of(uint i) { return min(first_token + i / kSlots, p.tokens - 1); }
uint64_t codes_row(uint i) { return x_at + uint64_t(token_of(i) * x_stride() + i % kSlots * kCols); }
uint64_t meta_row(uint i) { return meta_at + uint64_t(token_of(i) * meta_stride() + i % kSlots * kUnits) * 8; }

// Sixteens a and b of a row: what they say as it lies there, and of it scales of both, then sums of both.
uvec4 pairs_of(uint64_t row, uint a, uint b) { return uvec4(Pairs(row).v[a / 2], Pairs(row).v[b / 2]); }
vec4 meta_of(uvec4 pairs, uint a, uint b) {
  return vec4(scale_of(pairs.xy), scale_of(pairs.zw), float(sum_of(pairs.xy, a % 2)), float(sum_of(pairs.zw, b % 2)));
}

// ---- what x is

// What a thread stages of int8 rows: loaded before the first of W, looked at behind it.
const uint kCodeTurns = kStaged != 0 ? (kInputs * kSixteens + kThreads - 1) / kThreads : 1;
const uint kMetaTurns = kStaged != 0 ? (kInputs * kUnits + kThreads - 1) / kThreads : 1;
void load_int8(out uvec4 codes[kCodeTurns], out uvec4 pairs[kMetaTurns]) {
  [[unroll]] for (uint j = 0; j < kCodeTurns; ++j) {
    const uint i = min(thread_index() + j * kThreads, kInputs * kSixteens - 1), at = i % kSixteens;
    codes[j] = Quads(codes_row(i / kSixteens)).v[at < kUnits ? first_16(at) : second_16(at - kUnits)];
  }
  [[unroll]] for (uint j = 0; j < kMetaTurns; ++j) {
    const uint i = min(thread_index() + j * kThreads, kInputs * kUnits - 1), u = i % kUnits;
    pairs[j] = pairs_of(meta_row(i / kUnits), first_16(u), second_16(u));
  }
}
void stage_int8(uvec4 codes[kCodeTurns], uvec4 pairs[kMetaTurns]) {
  [[unroll]] for (uint j = 0; j < kCodeTurns; ++j) {
    const uint i = thread_index() + j * kThreads;
    if (i < kInputs * kSixteens) staged_codes[i] = codes[j];
  }
  [[unroll]] for (uint j = 0; j < kMetaTurns; ++j) {
    const uint i = thread_index() + j * kThreads;
    if (i >= kInputs * kUnits) break;
    staged_meta[i] = meta_of(pairs[j], first_16(i % kUnits), second_16(i % kUnits));
  }
}

// The row's factor from the sums of the squares of its blocks, by every subgroup for itself: a lane's part, loaded early.
const uint kSquareTurns = kFolded != 0 ? (kUnits + kLanes - 1) / kLanes : 1;
const uint kSquares = kTokens * kSquareTurns;
void load_squares(out float squares[kSquares]) {
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    const uint row = min(first_token + t, p.tokens - 1);
    [[unroll]] for (uint j = 0; j < kSquareTurns; ++j)
      squares[t * kSquareTurns + j] =
          Floats(meta_at + p.squares_at).v[row * meta_stride() + min(j * kLanes + lane, kUnits - 1)];
  }
}
void find_factors(float squares[kSquares]) {
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    float sum = 0.0;
    [[unroll]] for (uint j = 0; j < kSquareTurns; ++j)
      sum += j * kLanes + lane < kUnits ? squares[t * kSquareTurns + j] : 0.0;
    precise const float factor = 1.0 / sqrt(subgroupAdd(sum) / float(kCols) + p.eps);
    factors[t] = factor;
  }
}

// ---- rows of W

// A pass makes one row of W. Which row of y it belongs to:
const uint kPassesOfRow = kTwo ? 2 : 1;
uint passes() { return p.passes * kPassesOfRow; }
uint row_of_pass(uint pass) {
  return (gl_WorkGroupID.x * p.passes + pass / kPassesOfRow) * kSubgroups + gl_SubgroupID;
}

// kSummed: of the slot that unit u belongs to.
uint64_t address_of(uint pass, uint u) {
  const uint made_row = row_of_pass(pass), n = kRagged != 0 ? min(made_row, p.rows - 1) : made_row;
  const uint64_t from = kTwo && pass % 2 == 1 ? p.up : p.w;
  const uint first = kExperts == kSummed ? slot_row[u / kUnits] : expert_row;
  const uint row = kSliced == 0   ? first + n
                   : kSliced == 2 ? row_of_slice(first + n, 0, p.run & 65535, p.run >> 16)
                                  : row_of_slice(first + n, 0, p.run, p.stride);
  return from + uint64_t(row) * p.row_bytes;
}

// What is loaded together: some units of one row, or the units of two rows.
uint parts() { return kOneTurn ? (passes() + kDeep - 1) / kDeep : passes() * kRowParts; }
uint pass_of(uint part, uint i) { return kOneTurn ? min(part * kDeep + i, passes() - 1) : part / kRowParts; }
uint unit_of(uint part, uint i) { return kOneTurn ? lane : (part % kRowParts * kDeep + i) * kLanes + lane; }

uint64_t row_at;  // of the row whose units are being loaded
void load_part(uint part, out Raw raw[kDeep]) {
  if (kExperts != kSummed && !kOneTurn && part % kRowParts == 0) row_at = address_of(part / kRowParts, 0);
  [[unroll]] for (uint i = 0; i < kDeep; ++i) {
    const uint any = unit_of(part, i), u = kWhole ? any : min(any, kRowUnits - 1);
    if (kExperts == kSummed || kOneTurn) row_at = address_of(pass_of(part, i), u);
    raw[i] = load_unit(row_at, u % kUnits);
  }
}

void multiply_unit(Raw raw, uint unit, uint pass) {
  const uint u = kExperts == kSummed ? unit % kUnits : unit, of_slot = kExperts == kSummed ? unit / kUnits : 0;
  const uint head = kExperts == kHeads ? min(row_of_pass(pass), p.rows - 1) / p.route_stride : 0;
  const Unit w = decode_unit(raw, u);
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    const uint from = t * kSlots + of_slot;
    uvec4 first, second;
    vec4 meta;
    if (kStaged != 0) {
      first = staged_codes[from * kSixteens + u];
      second = staged_codes[from * kSixteens + kUnits + u];
      meta = staged_meta[from * kUnits + u];
    } else {
      const uint a = head * kSixteens + first_16(u), b = head * kSixteens + second_16(u);
      first = Quads(codes_row(from)).v[a];
      second = Quads(codes_row(from)).v[b];
      meta = meta_of(pairs_of(meta_row(from), a, b), a, b);
    }
    precise float sum = kExperts == kSummed ? 0.0 : sums[t];
    sum = fma(w.scale.x * meta.x, float(dot_of_words(w.first, first)), sum);
    sum = fma(w.scale.y * meta.y, float(dot_of_words(w.second, second)), sum);
#ifndef NO_LOWS
    sum = fma(-w.low.x * meta.x, meta.z, sum);
    sum = fma(-w.low.y * meta.y, meta.w, sum);
#endif
    sums[t] = kExperts == kSummed ? fma(slot_weight[of_slot], sum, sums[t]) : sum;
  }
}

// ---- what becomes of a sum

float glu_of(float gate, float up) {
  if (kAct == kClampedSwiglu) up = (isnan(up) ? up : clamp(up, -7.0, 7.0)) + 1.0;
  return activate(kAct, gate) * up;
}

void finish_row(uint pass) {
  const uint n = row_of_pass(pass);
  const bool is_gate = kTwo && pass % 2 == 0;
  [[unroll]] for (uint t = 0; t < kTokens; ++t) {
    const uint64_t biases = kTwo && !is_gate ? p.other : p.bias;
    if (kExperts == kSummed && biases != 0) {
      for (uint s = lane; s < kSlots; s += kLanes)
        sums[t] = fma(slot_weight[s], Floats(biases).v[slot_row[s] + min(n, p.rows - 1)], sums[t]);
    }
    precise float y = subgroupAdd(sums[t]);
    if (kFolded != 0) y *= factors[t];
    sums[t] = 0.0;
    if (kExperts != kSummed && kRouted == 0 && biases != 0) y += Floats(biases).v[expert_row + min(n, p.rows - 1)];
    if (is_gate && !kBlocks) {
      gates[t] = y;
      continue;
    }
    if (kTwo && !kBlocks) y = glu_of(gates[t], y);
    const uint row = first_token + t;
    if (kTaps != 0) {
      if (lane == pass) gates[t] = y;
      continue;
    }
    if (kBlocks) {
      if (lane == 0) made[t * kMade + (is_gate ? 32 : 0) + n % 32] = n < p.rows ? y : 0.0;
      continue;
    }
    if (lane != 0 || n >= p.rows || row >= p.tokens) continue;
    if (kEpilogue == kSum) y += Floats(p.other).v[row * other_stride() + n];
    Output(p.y).v[row * y_stride() + slot * p.rows + n] = y;
  }
}

void multiply_part(uint part, Raw raw[kDeep]) {
  [[unroll]] for (uint i = 0; i < kDeep; ++i) {
    const uint u = unit_of(part, i);
    if (kOneTurn && part * kDeep + i >= passes()) break;
    if (kWhole || u < kRowUnits) multiply_unit(raw[i], u, pass_of(part, i));
    if (kOneTurn) finish_row(part * kDeep + i);
  }
  if (!kOneTurn && part % kRowParts == kRowParts - 1) finish_row(part / kRowParts);
}

// ---- 32 values of a row: a subgroup's first eight lanes have four each

const uint kBlockTurns = kEpilogue == kSumInt8 ? (kTokens + kSubgroups - 1) / kSubgroups : 1;
uint quad_of_lane() { return gl_WorkGroupID.x * 8 + min(lane, 7); }
// What is added to them, and their gain: loaded before the first of W.
void load_added(out vec4 added[kBlockTurns], out vec4 gain) {
  [[unroll]] for (uint j = 0; j < kBlockTurns; ++j) {
    const uint row = min(first_token + gl_SubgroupID + j * kSubgroups, p.tokens - 1);
    added[j] = Vectors(p.other + 4ul * (row * y_stride())).v[quad_of_lane()];
  }
  gain = p.up != 0 ? Vectors(p.up).v[quad_of_lane()] : vec4(1.0);
}

void store_int8(vec4 x, uint64_t codes, uint64_t pairs, uint block) {
  uvec2 meta;
  const uint word = quantize_by_lanes(x, meta);
  if (lane < 8) WordsOut(codes).v[8 * block + lane] = word;
  if (lane == 0) PairsOut(pairs).v[block] = meta;
}

void store_sum(uint row, vec4 x, vec4 gain) {
  if (lane < 8 && p.y != 0) VectorsOut(p.y + 4ul * (row * y_stride())).v[quad_of_lane()] = x;
  float squares = 0.0;
  [[unroll]] for (uint j = 0; j < 4; ++j) squares = fma(x[j], x[j], squares);
  squares = subgroupAdd(squares);
  const uint block = gl_WorkGroupID.x;
  // Rows of codes, then rows of pairs, then rows of sums of squares, all of them of as many rows.
  const uint64_t pairs = p.y_more + p.pairs_at;
  const uint rows = p.pairs_at / other_stride(), stride = (p.rows / 32 + 15) / 16 * 16;
  if (lane == 0) Output(pairs + 8ul * (rows * stride)).v[row * stride + block] = squares;
  store_int8(x * gain, p.y_more + row * other_stride(), pairs + 8ul * (row * stride), block);
}

void store_blocks(vec4 added[kBlockTurns], vec4 gain) {
  barrier();
  [[unroll]] for (uint j = 0; j < (kTokens + kSubgroups - 1) / kSubgroups; ++j) {
    const uint t = gl_SubgroupID + j * kSubgroups, row = first_token + t;
    if (t >= kTokens || row >= p.tokens) break;
    vec4 x = vec4(0.0);
    if (lane < 8) {
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        const uint at = t * kMade + 4 * lane + k;
        x[k] = kEpilogue == kGluInt8 ? glu_of(made[at + 32], made[at]) : made[at];
      }
    }
    if (kEpilogue == kSumInt8) {
      if (lane < 8) x += added[j];
      store_sum(row, x, gain);
    } else {
      const uint block = slot * (p.rows / 32) + gl_WorkGroupID.x;
      store_int8(x, p.y + row * y_stride(), p.y_more + 8ul * (row * other_stride()), block);
    }
  }
}

// ---- a convolution of the sums: a lane has the row of the pass of its number, and all rows of x are the workgroup's

uint channel() { return min(row_of_pass(lane), p.rows - 1); }
Output state_at(int page) { return Output(p.other + uint64_t(page) * p.route_stride); }
// The rows before a part, in places 1 and on.
void load_window(Part part, out float window[kWindow]) {
  window[0] = 0.0;
  [[unroll]] for (uint j = 1; j < kWindow; ++j)
    window[j] = part.from < 0 ? 0.0 : state_at(part.from).v[(j - 1) * p.rows + channel()];
}
void keep_window(int page, float window[kWindow]) {
  Output to = state_at(page);
  [[unroll]] for (uint j = 1; j < kWindow; ++j) to.v[(j - 1) * p.rows + channel()] = window[j];
}

// Loaded before the first of W: the first part, its window, the weights.
void load_conv(out Part part, out float window[kWindow], out float w[kWindow]) {
  part = part_at(Ints(uint64_t(p.route)), 0);
  load_window(part, window);
  [[unroll]] for (uint j = 0; j < kWindow; ++j) w[j] = Floats(p.up).v[channel() * kWindow + j];
}

void convolve(Part part, float window[kWindow], float w[kWindow]) {
  if (lane >= p.passes || row_of_pass(lane) >= p.rows) return;
  for (uint i = 0; i < p.pairs_at; ++i) {
    if (i > 0) {
      part = part_at(Ints(uint64_t(p.route)), i);
      load_window(part, window);
    }
    [[unroll]] for (uint t = 0; t < kTokens; ++t) {
      if (t < part.begin || t >= part.end) continue;
      push_row(window, gates[t]);
      Output(p.y).v[t * y_stride() + channel()] = convolved(w, window, 0.0, kConvSilu != 0);
      const int page = Ints(p.y_more).v[t];
      if (page >= 0) keep_window(page, window);
    }
    keep_window(part.to, window);
  }
}

void load_slots() {
  for (uint i = thread_index(); i < kSlots; i += kThreads) {
    slot_row[i] = uint(p.route.v[first_token * p.route_stride + i]) * p.rows;
    slot_weight[i] = p.route.v[first_token * p.route_stride + kSlots + i];
  }
  barrier();
}

// The slot's expert.
uint choose() {
  if (gl_SubgroupID == 0) {
    const uint used = gl_NumWorkGroups.z;
    const Routing r = Routing(kRouted / 8, p.other, kGroupsUsed, (kRouted & 4) != 0, (kRouted & 2) != 0,
                              uintBitsToFloat(kMinSumBits), uintBitsToFloat(kScaleBits));
    score_experts(p.bias + 4ul * (first_token * p.pairs_at), r);
    select_experts(gl_WorkGroupID.x == 0 ? used : slot + 1);
    if (gl_WorkGroupID.x == 0 && lane == 0) {
      Output route = Output(uint64_t(p.route));
      route.v[first_token * p.route_stride + slot] = float(picked_at[slot]);
      route.v[first_token * p.route_stride + used + slot] = weight_of(slot, used, r);
    }
  }
  barrier();
  return picked_at[slot];
}

void main() {
  grid = p.grid_table;
  const bool is_expert = kExperts != 0 && kExperts != kHeads && kExperts != kSummed;
  lane = gl_SubgroupInvocationID;
  first_token = gl_WorkGroupID.y * kTokens;
  slot = is_expert ? gl_WorkGroupID.z : 0;
  x_at = p.x + (kExperts == kOwnInput ? slot * kCols : 0);
  meta_at = p.x_more + (kExperts == kOwnInput ? slot * (kCols / 32) * 8 : 0);
  [[unroll]] for (uint t = 0; t < kTokens; ++t) sums[t] = 0.0;
  const uint count = parts();
  Raw here[kDeep], next[kDeep];
  uvec4 codes[kCodeTurns];
  uvec4 pairs[kMetaTurns];
  vec4 added[kBlockTurns], gain;
  float squares[kSquares];
  Part part_of_conv;
  float window[kWindow], taps[kWindow];
  if (kTaps != 0) load_conv(part_of_conv, window, taps);
  expert_row = 0;
  // Weights are no program's output: where it is known which ones, their loads do not wait for what x is made by.
  const bool early = kWaits && kRouted == 0 && !is_expert && kExperts != kSummed;
  if (early) {
    load_part(0, here);
    if (count > 1) load_part(1, next);
  }
  wait_for_input(counter());
  if (kStaged != 0) load_int8(codes, pairs);
  if (kFolded != 0) load_squares(squares);
  if (kEpilogue == kSumInt8) load_added(added, gain);
  if (kExperts == kSummed) load_slots();
  if (kRouted != 0) {
    expert_row = choose() * p.rows;
  } else if (is_expert) {
    expert_row = uint(p.route.v[first_token * p.route_stride + slot]) * p.rows;
  }
  if (!early) {
    load_part(0, here);
    if (count > 1) load_part(1, next);
  }
  if (kStaged != 0) {
    stage_int8(codes, pairs);
    barrier();
  }
  if (kFolded != 0) find_factors(squares);
  for (uint part = 0; part < count; part += 2) {
    multiply_part(part, here);
    if (part + 2 < count) load_part(part + 2, here);
    if (part + 1 >= count) break;
    multiply_part(part + 1, next);
    if (part + 3 < count) load_part(part + 3, next);
  }
  if (kTaps != 0) convolve(part_of_conv, window, taps);
  if (kBlocks) store_blocks(added, gain);
  say_done(counter());
}
