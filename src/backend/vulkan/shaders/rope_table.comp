#version 460
// Pairs (cos, sin) of position · frequency, times magnitude. One thread a pair. The angle is reduced by hand: devices'
// own cosine is exact to some 1e-3 only where angles are large.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
  Floats frequencies;
  Ints positions;
  Output y;
  uint pairs, y_stride;
  float magnitude;
} p;

void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
  if (i >= p.pairs) return;
  precise const float angle = float(p.positions.v[t]) * p.frequencies.v[i];
  // angle − n · 2π, 2π in three parts whose products with n are exact for n < 2^12 and more
  const float n = round(angle * 0.15915494309);
  precise float rest = fma(-n, 6.28125, angle);
  rest = fma(-n, 0.0019350051879882812, rest);
  rest = fma(-n, 3.019916050561733e-7, rest);
  p.y.v[t * p.y_stride + 2 * i] = cos(rest) * p.magnitude;
  p.y.v[t * p.y_stride + 2 * i + 1] = sin(rest) * p.magnitude;
}
