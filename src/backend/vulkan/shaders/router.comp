#version 460
// y = x Wᵀ (+ bias) of few rows and float weights, as routers of experts are: a workgroup a row of W, whose loads are under way
// together. kNormed: x is what a norm makes of the values: they are multiplied by their gain here, and the sum by the factor
// of the row, which each workgroup finds for itself as it reads the row anyway.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "subgroups.glsl"
#include "vectors.glsl"
layout(constant_id = 2) const uint kCols = 32;
layout(constant_id = 3) const uint kNormed = 0;
layout(constant_id = 4) const uint kType = 0;  // of W: f32, f16, bf16
#define OVERLAP_ID 5
#include "overlap.glsl"
layout(push_constant) uniform Push {
  uint64_t w, x, gain, bias;  // gain, bias: 0: none
  Output y;
  uint row_bytes, first, run, stride;  // of W's rows
  uint x_stride, y_stride;
  float eps;
  uint rows;  // of W that are wanted
  layout(offset = 124) uint after_counter;  // kOverlap: bytes from the counter to x
} p;
uint64_t counter() { return p.x - p.after_counter; }
const uint kQuads = kCols / 4, kTogether = 4, kTurns = (kQuads + kThreads * kTogether - 1) / (kThreads * kTogether);
shared vec2 parts[kSubgroups];

vec4 weights_at(uint64_t row, uint quad) {
  if (kType == 0) return Vectors(row).v[quad];
  const uvec2 bits = Pairs(row).v[quad];
  if (kType == 1) return vec4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));
  return uintBitsToFloat(uvec4(bits.x << 16, bits.x & 0xffff0000u, bits.y << 16, bits.y & 0xffff0000u));
}

void make_value() {
  const uint thread = thread_index(), n = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x, t = gl_WorkGroupID.y;
  if (n >= p.rows) {
    wait_for_input(counter());
    return;
  }
  const uint64_t row = p.w + uint64_t(row_of_slice(n, p.first, p.run, p.stride)) * p.row_bytes;
  const uint64_t values = p.x + 4ul * (t * p.x_stride);
  float sum = 0.0, squares = 0.0;
  vec4 w[kTogether];
  if (kWaits) {
    [[unroll]] for (uint j = 0; j < kTogether; ++j) w[j] = weights_at(row, min(j * kThreads + thread, kQuads - 1));
  }
  wait_for_input(counter());
  for (uint turn = 0; turn < kTurns; ++turn) {
    vec4 x[kTogether], gain[kTogether];
    [[unroll]] for (uint j = 0; j < kTogether; ++j) {
      const uint i = min((turn * kTogether + j) * kThreads + thread, kQuads - 1);
      if (!kWaits || turn > 0) w[j] = weights_at(row, i);
      x[j] = Vectors(values).v[i];
      gain[j] = kNormed != 0 && p.gain != 0 ? Vectors(p.gain).v[i] : vec4(1.0);
    }
    [[unroll]] for (uint j = 0; j < kTogether; ++j) {
      if ((turn * kTogether + j) * kThreads + thread >= kQuads) break;
      [[unroll]] for (uint k = 0; k < 4; ++k) {
        if (kNormed != 0) squares = fma(x[j][k], x[j][k], squares);
        sum = fma(w[j][k], x[j][k] * gain[j][k], sum);
      }
    }
  }
  const vec2 both = vec2(subgroupAdd(sum), kNormed != 0 ? subgroupAdd(squares) : 0.0);
  if (gl_SubgroupInvocationID == 0) parts[gl_SubgroupID] = both;
  barrier();
  if (thread != 0) return;
  precise vec2 all = parts[0];
  for (uint i = 1; i < kSubgroups; ++i) all += parts[i];
  if (kNormed != 0) {
    precise const float factor = 1.0 / sqrt(all.y / float(kCols) + p.eps);
    all.x *= factor;
  }
  p.y.v[t * p.y_stride + n] = all.x + (p.bias != 0 ? Floats(p.bias).v[n] : 0.0);
}

void main() {
  make_value();
  say_done(counter());
}
