#version 460
// Reads memory and keeps nothing of it: each thread four words of 16 bytes at a time, all threads side by side.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
layout(local_size_x = 256) in;
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Words {
  uvec4 v[];
};
layout(push_constant) uniform Push {
  Words from;
  Output to;
  uint count;  // of 16 bytes: a multiple of four for each thread
} p;

void main() {
  const uint threads = gl_NumWorkGroups.x * 256;
  uvec4 all = uvec4(0);
  for (uint i = gl_GlobalInvocationID.x; i < p.count; i += 4 * threads)
    all |= p.from.v[i] | p.from.v[i + threads] | p.from.v[i + 2 * threads] | p.from.v[i + 3 * threads];
  if ((all.x | all.y | all.z | all.w) != 0) p.to.v[0] = 1.0;  // there are zeros
}
