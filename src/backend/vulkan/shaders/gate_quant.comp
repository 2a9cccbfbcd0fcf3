#version 460
// act(gate) · x in int8, x normed head by head before where it is: one subgroup a head of a row, whose sums are those of
// norm.comp.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
#include "int8.glsl"
layout(constant_id = 1) const uint kDim = 64;
layout(constant_id = 2) const uint kNorm = 0;
layout(constant_id = 3) const uint kAct = 0;
layout(push_constant) uniform Push {
  Floats gate, x;
  uint64_t gain, codes, meta;
  uint gate_stride, x_stride, gain_step;
  uint code_stride, meta_stride;  // bytes; pairs
  float eps;
} p;
shared float values[kDim];

void main() {
  const uint lane = gl_LocalInvocationID.x, head = gl_WorkGroupID.x, t = gl_WorkGroupID.y;
  const uint from = t * p.x_stride + head * kDim;
  precise float squares = 0.0;
  if (kNorm != 0) {
    for (uint i = lane; i < kDim; i += kLanes) squares += p.x.v[from + i] * p.x.v[from + i];
    squares = subgroupAdd(squares);
  }
  precise const float factor = kNorm != 0 ? 1.0 / sqrt(squares / float(kDim) + p.eps) : 1.0;
  for (uint i = lane; i < kDim; i += kLanes) {
    precise float y = p.x.v[from + i];
    if (kNorm != 0) {
      y *= factor;
      if (p.gain != 0) y *= Floats(p.gain).v[head * p.gain_step + i];
    }
    values[i] = activate(kAct, p.gate.v[t * p.gate_stride + head * kDim + i]) * y;
  }
  subgroupMemoryBarrierShared();
  subgroupBarrier();
  for (uint b = lane; b < kDim / 32; b += kLanes) {
    vec4 x[8];
    [[unroll]] for (uint i = 0; i < 8; ++i) {
      [[unroll]] for (uint j = 0; j < 4; ++j) x[i][j] = values[32 * b + 4 * i + j];
    }
    const Quantized32 q = quantize(x);
    const uint block = head * (kDim / 32) + b;
    QuadsOut codes = QuadsOut(p.codes + uint64_t(t * p.code_stride));
    codes.v[2 * block] = q.codes[0];
    codes.v[2 * block + 1] = q.codes[1];
    PairsOut(p.meta).v[t * p.meta_stride + block] = q.meta;
  }
}
