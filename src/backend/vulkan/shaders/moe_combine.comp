#version 460
// The weighted sum of a row's slots, and of the expert that all rows share. One thread a value.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats slots, route, shared_expert, gate;
  Output y;
  uint used, width, slots_stride, route_stride, shared_stride, gate_stride, y_stride;
  uint has_shared, has_gate;
} p;

void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
  if (i >= p.width) return;
  precise float sum = 0.0;
  for (uint j = 0; j < p.used; ++j)
    sum += p.route.v[t * p.route_stride + p.used + j] * p.slots.v[t * p.slots_stride + j * p.width + i];
  if (p.has_shared != 0) {
    const float gate = p.has_gate != 0 ? sigmoid(p.gate.v[t * p.gate_stride]) : 1.0;
    sum += gate * p.shared_expert.v[t * p.shared_stride + i];
  }
  p.y.v[t * p.y_stride + i] = sum;
}
