#version 460
// The partial results of a row's splits (attend.glsl), in their order, to one query head's output: f32, or int8, times
// a gate where there is one.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "attend.glsl"
#define OVERLAP_ID 6
#include "overlap.glsl"
layout(constant_id = 2) const uint kValueDim = 64;
layout(constant_id = 3) const uint kInt8Out = 0;
layout(constant_id = 4) const uint kGate = 0;  // 0: none; else 1 + its ActKind
layout(constant_id = 5) const uint kSplits = 1;  // most of a row, kThreads at most
layout(push_constant) uniform Push {
  Floats sinks;
  Ints batch;
  uint64_t partial, y, y_more;  // f32; or codes and pairs
  uint64_t gate;
  uint positions_at, q_heads, window, has_sinks, splits;  // splits: that there is room for
  uint y_stride, y_more_stride;  // values; or bytes and pairs
  uint gate_stride;
  layout(offset = 124) uint after_counter;  // kOverlap: bytes from the counter to y
} p;
uint64_t counter() { return p.y - p.after_counter; }
const uint kQuads = kValueDim / 4, kSlices = kThreads / kQuads;
shared vec4 slices[kSlices * kQuads];
shared float factors[kThreads], totals[kSubgroups], tops[kSubgroups];

vec2 part_of(uint t, uint split) {
  return partial_head(p.partial, p.splits, p.q_heads, kValueDim, t, split, gl_WorkGroupID.x).v[0];
}
vec4 sums_of(uint t, uint split, uint quad) {
  return Vectors(partial_sums(p.partial, p.splits, p.q_heads, kValueDim, t, split, gl_WorkGroupID.x)).v[quad];
}

// Loads that wait for nothing: of the first splits, whether the row has them or not. And those of a turn behind them.
const uint kEarly = 4, kTogether = 12;

void combine() {
  const uint head = gl_WorkGroupID.x, t = gl_WorkGroupID.y, thread = thread_index();
  const uint slice = min(thread / kQuads, kSlices - 1), quad = thread % kQuads;
  const bool padding = p.batch.v[t] < 0;
  const uint position = uint(p.batch.v[p.positions_at + t]);
  wait_for_input(counter());
  const vec2 part = part_of(t, min(thread, p.splits - 1));
  vec4 early[kEarly];
  [[unroll]] for (uint j = 0; j < kEarly; ++j) early[j] = sums_of(t, min(slice + j * kSlices, p.splits - 1), quad);
  vec4 gate = vec4(0.0);
  if (kGate != 0) gate = Vectors(p.gate + 4ul * (t * p.gate_stride + head * kValueDim)).v[quad];
  const uint end = padding ? 0 : splits_of(seen_by(position, p.window, kSplits));

  float top = p.has_sinks != 0 ? p.sinks.v[head] : -kInfinity;
  if (thread < end) top = max(top, part.x);
  top = subgroupMax(top);
  if (gl_SubgroupInvocationID == 0) tops[gl_SubgroupID] = top;
  barrier();
  for (uint i = 0; i < kSubgroups; ++i) top = max(top, tops[i]);

  const float factor = thread < end ? exp(part.x - top) : 0.0;
  float total = thread < end ? part.y * factor : 0.0;
  factors[thread] = factor;
  barrier();
  vec4 sum = vec4(0.0);
  [[unroll]] for (uint j = 0; j < kEarly; ++j) {
    const uint split = slice + j * kSlices;
    if (split < end) sum = fma(early[j], vec4(factors[split]), sum);
  }
  for (uint i = slice + kEarly * kSlices; i < end; i += kTogether * kSlices) {
    vec4 more[kTogether];
    [[unroll]] for (uint j = 0; j < kTogether; ++j) more[j] = sums_of(t, min(i + j * kSlices, end - 1), quad);
    [[unroll]] for (uint j = 0; j < kTogether; ++j) {
      if (i + j * kSlices < end) sum = fma(more[j], vec4(factors[i + j * kSlices]), sum);
    }
  }
  total = subgroupAdd(total);
  if (gl_SubgroupInvocationID == 0) totals[gl_SubgroupID] = total;
  if (thread < kSlices * kQuads) slices[thread] = sum;
  barrier();
  if (thread < kQuads) {
    total = p.has_sinks != 0 ? exp(p.sinks.v[head] - top) : 0.0;
    for (uint i = 0; i < kSubgroups; ++i) total += totals[i];
    for (uint s = 1; s < kSlices; ++s) sum += slices[s * kQuads + thread];
    sum = padding ? vec4(0.0) : sum / total;
    if (kGate != 0) {
      [[unroll]] for (uint j = 0; j < 4; ++j) sum[j] = activate(kGate - 1, gate[j]) * sum[j];
    }
    if (kInt8Out == 0) {
      VectorsOut(p.y + 4ul * (t * p.y_stride + head * kValueDim)).v[thread] = sum;
    } else {
      slices[thread] = sum;
    }
  }
  if (kInt8Out == 0) return;
  barrier();
  for (uint part = gl_SubgroupID; part < kValueDim / 32; part += kSubgroups) {
    const uint lane = gl_SubgroupInvocationID, block = head * (kValueDim / 32) + part;
    vec4 x = vec4(0.0);
    if (lane < 8) x = slices[8 * part + lane];
    uvec2 meta;
    const uint word = quantize_by_lanes(x, meta);
    if (lane < 8) WordsOut(p.y + uint64_t(t * p.y_stride)).v[8 * block + lane] = word;
    if (lane == 0) PairsOut(p.y_more).v[t * p.y_more_stride + block] = meta;
  }
}

void main() {
  combine();
  say_done(counter());
}
