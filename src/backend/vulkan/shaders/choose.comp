#version 460
// The number of the largest logit of a row, the lowest of equal ones; where one is not finite, −1 − the number of the first
// such. A workgroup a row. The step that follows finds its tokens in `next`.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "vectors.glsl"
#define OVERLAP_ID 2
#include "overlap.glsl"
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Tokens {
  int v[];
};
layout(push_constant) uniform Push {
  uint64_t x;
  Output y;
  uint64_t next;  // 0: none
  uint width, x_stride, y_stride;  // x_stride a multiple of four
  layout(offset = 124) uint after_counter;      // kOverlap: bytes from the counter to x
} p;
uint64_t counter() { return p.x - p.after_counter; }
const uint kNone = 0xffffffffu, kTogether = 8;
shared float bests[kSubgroups];
shared uint places[kSubgroups], faults[kSubgroups];

void choose() {
  const uint thread = thread_index(), t = gl_WorkGroupID.x, quads = (p.width + 3) / 4;
  const uint64_t row = p.x + 4ul * (t * p.x_stride);
  float best = -kInfinity;
  uint place = kNone, fault = kNone;
  for (uint first = thread; first < quads; first += kThreads * kTogether) {
    vec4 x[kTogether];
    [[unroll]] for (uint j = 0; j < kTogether; ++j) x[j] = Vectors(row).v[min(first + j * kThreads, quads - 1)];
    [[unroll]] for (uint j = 0; j < kTogether; ++j) {
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        const uint i = 4 * (first + j * kThreads) + k;
        if (i >= p.width) continue;
        if ((floatBitsToUint(x[j][k]) & 0x7f800000u) == 0x7f800000u) {
          fault = min(fault, i);
        } else if (x[j][k] > best) {
          best = x[j][k];
          place = i;
        }
      }
    }
  }
  const float most = subgroupMax(best);
  place = subgroupMin(best == most ? place : kNone);
  fault = subgroupMin(fault);
  if (gl_SubgroupInvocationID == 0) {
    bests[gl_SubgroupID] = most;
    places[gl_SubgroupID] = place;
    faults[gl_SubgroupID] = fault;
  }
  barrier();
  if (thread != 0) return;
  best = bests[0];
  for (uint i = 1; i < kSubgroups; ++i) {
    fault = min(fault, faults[i]);
    if (bests[i] < best || (bests[i] == best && places[i] > place)) continue;
    best = bests[i];
    place = places[i];
  }
  p.y.v[t * p.y_stride] = fault == kNone ? float(place) : -1.0 - float(fault);
  if (p.next != 0) Tokens(p.next).v[t] = fault == kNone ? int(place) : 0;
}

void main() {
  wait_for_input(counter());
  choose();
  say_done(counter());
}
