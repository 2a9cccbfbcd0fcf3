#version 460
// Multiplies and adds in registers: eight sums of four that do not wait for each other.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
  Output to;
  uint turns;
  float factor;
} p;

void main() {
  vec4 sum[8];
  for (uint i = 0; i < 8; ++i) sum[i] = vec4(float(gl_LocalInvocationID.x), float(i), 1.0, 2.0);
  for (uint turn = 0; turn < p.turns; ++turn) {
    [[unroll]] for (uint i = 0; i < 8; ++i) sum[i] = fma(sum[i], vec4(p.factor), vec4(1.0));
  }
  vec4 all = vec4(0.0);
  [[unroll]] for (uint i = 0; i < 8; ++i) all += sum[i];
  if (all.x + all.y + all.z + all.w == -1.0) p.to.v[0] = 1.0;  // sums are positive
}
