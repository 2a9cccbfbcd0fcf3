#version 460
// How tiles lie in the lanes: how many values of an A tile each lane holds, then which these are (row · kTileK + column); behind
// them the same of a C tile (row · kTileN + column).
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrix.glsl"
layout(push_constant) uniform Push {
  Output to;
} p;
shared uvec4 stage[kTileM * kTileK / 8];
shared float sums[kTileM * kTileN];

void main() {
  const uint lane = gl_LocalInvocationID.x;
  for (uint u = lane; u < kTileM * kTileK / 8; u += kLanes) {
    uvec4 words;
    for (uint w = 0; w < 4; ++w) words[w] = packHalf2x16(vec2(float(8 * u + 2 * w), float(8 * u + 2 * w + 1)));
    stage[u] = words;
  }
  for (uint i = lane; i < kTileM * kTileN; i += kLanes) sums[i] = float(i);
  meet_lanes();
  MatrixA a;
  coopMatLoad(a, stage, 0, kTileK / 8, gl_CooperativeMatrixLayoutRowMajor);
  MatrixC c;
  coopMatLoad(c, sums, 0, kTileN, gl_CooperativeMatrixLayoutRowMajor);
  const uint n = uint(a.length()), m = uint(c.length()), behind = 1 + n * kLanes;
  if (lane == 0) p.to.v[0] = float(n);
  for (uint e = 0; e < n; ++e) p.to.v[1 + lane * n + e] = float(a[e]);
  if (lane == 0) p.to.v[behind] = float(m);
  for (uint e = 0; e < m; ++e) p.to.v[behind + 1 + lane * m + e] = c[e];
}
