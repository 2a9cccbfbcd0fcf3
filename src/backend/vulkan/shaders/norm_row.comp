#version 460
// One workgroup a row: a (+ b) → norm → f32 and int8, whichever of these there are.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "int8.glsl"
#include "norm_of_row.glsl"
#define OVERLAP_ID 6
#include "overlap.glsl"
layout(push_constant) uniform Push {
  uint64_t a, b, sum, gain, bias, y, codes, meta;  // 0: there is none
  uint width, a_stride, b_stride, sum_stride, y_stride;
  uint code_stride, meta_stride;  // bytes; pairs
  float eps;
  layout(offset = 124) uint after_counter;  // kOverlap: bytes from the counter to a
} p;
uint64_t counter() { return p.a - p.after_counter; }
#define BIAS_OF_NORM p.bias

void load_row(uint t, uint block, out vec4 x[8]) {
  load_block(p.a + 4ul * (t * p.a_stride), block, p.width, x);
  if (p.b == 0) return;
  vec4 other[8];
  load_block(p.b + 4ul * (t * p.b_stride), block, p.width, other);
  [[unroll]] for (uint i = 0; i < 8; ++i) x[i] += other[i];
}
#include "row_parts.glsl"

void main() {
  wait_for_input(counter());
  make_row(gl_WorkGroupID.x);
  say_done(counter());
}
