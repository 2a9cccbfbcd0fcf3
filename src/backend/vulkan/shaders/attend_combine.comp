#version 460
// The partial results of a row's pages (attend.glsl), in their order, to one query head's output: f32, or int8, times
// a gate where there is one.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "attend.glsl"
layout(constant_id = 2) const uint kValueDim = 64;
layout(constant_id = 3) const uint kInt8Out = 0;
layout(constant_id = 4) const uint kGate = 0;  // 0: none; else 1 + its ActKind
layout(push_constant) uniform Push {
  Floats sinks;
  Ints batch;
  uint64_t partial, y, y_more;  // f32; or codes and pairs
  uint64_t gate;
  uint positions_at, q_heads, window, has_sinks, pages;
  uint y_stride, y_more_stride;  // values; or bytes and pairs
  uint gate_stride;
} p;
const uint kQuads = kValueDim / 4, kSlices = kThreads / kQuads;
shared vec4 slices[kSlices * kQuads];
shared float factors[kThreads], totals[kThreads], tops[kSubgroups];

vec2 part_of(uint t, uint page) {
  return partial_head(p.partial, p.pages, p.q_heads, kValueDim, t, page, gl_WorkGroupID.x).v[0];
}

void main() {
  const uint head = gl_WorkGroupID.x, t = gl_WorkGroupID.y, thread = thread_index();
  const bool padding = p.batch.v[t] < 0;
  const uint position = uint(p.batch.v[p.positions_at + t]);
  const uint begin = p.window > 0 && position + 1 > p.window ? position + 1 - p.window : 0;
  const uint first = begin / kPageTokens, end = padding ? first : position / kPageTokens + 1;
  const uint slice = thread / kQuads, quad = thread % kQuads;

  float top = p.has_sinks != 0 ? p.sinks.v[head] : -kInfinity;
  for (uint page = first + thread; page < end; page += kThreads) top = max(top, part_of(t, page).x);
  top = subgroupMax(top);
  if (gl_SubgroupInvocationID == 0) tops[gl_SubgroupID] = top;
  barrier();
  for (uint i = 0; i < kSubgroups; ++i) top = max(top, tops[i]);

  float total = p.has_sinks != 0 ? exp(p.sinks.v[head] - top) : 0.0;
  vec4 sum = vec4(0.0);
  for (uint from = first; from < end; from += kThreads) {
    const uint here = min(kThreads, end - from);
    barrier();
    if (thread < here) {
      const vec2 part = part_of(t, from + thread);
      factors[thread] = exp(part.x - top);
      totals[thread] = part.y;
    }
    barrier();
    for (uint i = 0; i < here; ++i) total = fma(totals[i], factors[i], total);
    for (uint i = (slice + kSlices - from % kSlices) % kSlices; i < here && slice < kSlices; i += kSlices) {
      const vec4 values =
          Vectors(partial_sums(p.partial, p.pages, p.q_heads, kValueDim, t, from + i, head)).v[quad];
      sum = fma(values, vec4(factors[i]), sum);
    }
  }
  if (slice < kSlices) slices[thread] = sum;
  barrier();
  if (thread < kQuads) {
    for (uint s = 1; s < kSlices; ++s) sum += slices[s * kQuads + thread];
    sum = padding ? vec4(0.0) : sum / total;
    if (kGate != 0) {
      const vec4 gate = Vectors(p.gate + 4ul * (t * p.gate_stride + head * kValueDim)).v[thread];
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
  if (thread < kValueDim / 32) {
    vec4 x[8];
    [[unroll]] for (uint i = 0; i < 8; ++i) x[i] = slices[8 * thread + i];
    const Quantized32 q = quantize(x);
    const uint block = head * (kValueDim / 32) + thread;
    QuadsOut codes = QuadsOut(p.y + uint64_t(t * p.y_stride));
    codes.v[2 * block] = q.codes[0];
    codes.v[2 * block + 1] = q.codes[1];
    PairsOut(p.y_more).v[t * p.y_more_stride + block] = q.meta;
  }
}
