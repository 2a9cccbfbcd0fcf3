#version 460
// Which rows go to which expert. A workgroup is an expert: it finds its entries (row · used + slot) among all, in their
// order, and where they begin behind those of the experts before it. `tiles` [expert, first, count] cuts each expert's run into pieces of
// kRun; expert e's stand from ⌊its first / kRun⌋ + e on, with empty ones up to the next expert's.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x_id = 1) in;
layout(constant_id = 1) const uint kThreads = 256;
layout(constant_id = 2) const uint kRun = 64;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Whole {
  int v[];
};
layout(push_constant) uniform Push {
  Floats route;
  Whole counts, order, tiles;
  uint entries, used, route_stride;
} p;
shared uint own[kThreads], below[kThreads];

uint expert_of(uint entry) { return uint(p.route.v[entry / p.used * p.route_stride + entry % p.used]); }

void main() {
  const uint thread = gl_LocalInvocationID.x, expert = gl_WorkGroupID.x;
  const uint share = (p.entries + kThreads - 1) / kThreads;
  const uint from = min(thread * share, p.entries), end = min(from + share, p.entries);
  uint mine = 0, less = 0;
  for (uint i = from; i < end; ++i) {
    const uint e = expert_of(i);
    mine += e == expert ? 1 : 0;
    less += e < expert ? 1 : 0;
  }
  own[thread] = mine;
  below[thread] = less;
  barrier();
  for (uint step = 1; step < kThreads; step *= 2) {  // running sums
    const uint a = thread >= step ? own[thread - step] : 0, b = thread >= step ? below[thread - step] : 0;
    barrier();
    own[thread] += a;
    below[thread] += b;
    barrier();
  }
  const uint total = own[kThreads - 1], first = below[kThreads - 1];
  uint at = first + own[thread] - mine;
  for (uint i = from; i < end; ++i) {
    if (expert_of(i) == expert) p.order.v[at++] = int(i);
  }
  if (thread == 0) p.counts.v[expert] = int(total);
  const uint tile = first / kRun + expert, next = (first + total) / kRun + expert + 1;
  for (uint i = tile + thread; i < next; i += kThreads) {
    const uint begin = min((i - tile) * kRun, total);
    p.tiles.v[3 * i] = int(expert);
    p.tiles.v[3 * i + 1] = int(first + begin);
    p.tiles.v[3 * i + 2] = int(min(kRun, total - begin));
  }
}
