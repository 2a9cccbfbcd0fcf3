#version 460
// One workgroup a row: the weighted sum of its experts' slots (moe_combine.comp), what is added to it, then norm → f32 and
// int8, whichever of these there are.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "norm_of_row.glsl"
layout(push_constant) uniform Push {
  uint64_t slots;
  Floats route;
  uint64_t shared_expert;
  Floats gate;
  uint64_t added, sum, gain, y, codes, meta;  // 0: there is none
  uint width, used_gated;  // used · 2 + whether the shared expert has a gate
  uint slots_stride, route_stride, shared_stride, gate_stride, added_stride, sum_stride, y_stride;
  uint code_stride, meta_stride;  // bytes; pairs
  float eps;
} p;
#define BIAS_OF_NORM 0ul

void load_row(uint t, uint block, out vec4 x[8]) {
  const uint used = p.used_gated / 2;
  [[unroll]] for (uint i = 0; i < 8; ++i) x[i] = vec4(0.0);
  vec4 other[8];
  for (uint slot = 0; slot < used; ++slot) {
    const float weight = p.route.v[t * p.route_stride + used + slot];
    load_block(p.slots + 4ul * (t * p.slots_stride + slot * p.width), block, p.width, other);
    [[unroll]] for (uint i = 0; i < 8; ++i) {
      precise vec4 sum = x[i] + weight * other[i];
      x[i] = sum;
    }
  }
  if (p.shared_expert != 0) {
    const float gate = (p.used_gated & 1) != 0 ? sigmoid(p.gate.v[t * p.gate_stride]) : 1.0;
    load_block(p.shared_expert + 4ul * (t * p.shared_stride), block, p.width, other);
    [[unroll]] for (uint i = 0; i < 8; ++i) {
      precise vec4 sum = x[i] + gate * other[i];
      x[i] = sum;
    }
  }
  load_block(p.added + 4ul * (t * p.added_stride), block, p.width, other);
  [[unroll]] for (uint i = 0; i < 8; ++i) x[i] += other[i];
}
#include "row_parts.glsl"

void main() { make_row(gl_WorkGroupID.x); }
