#version 460
// One value of a row each: add, scale, softcap, act, act_mul, copies of columns or rows, and means over rows.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "act_mul.glsl"
layout(local_size_x = 64) in;
layout(constant_id = 1) const uint kMode = 0;
const uint kAdd = 0, kScale = 1, kSoftcap = 2, kAct = 3, kActMul = 4, kSlice = 5, kConcat = 6, kGatherRows = 7, kPoolFirst = 8,
           kPoolMean = 9;
layout(push_constant) uniform Push {
  Floats a, b;
  Output y;
  Ints rows;  // kGatherRows: [R]; pooling: first row and number of rows, [R][2]
  uint width, a_stride, b_stride, y_stride;
  uint kind;             // of activation
  uint begin;            // kSlice
  uint a_part, b_part;   // kConcat: of a head
  float factor;
} p;

float value(uint t, uint i) {
  const uint a = t * p.a_stride + i, b = t * p.b_stride + i;
  switch (kMode) {
    case kAdd:
      return p.a.v[a] + p.b.v[b];
    case kScale:
      return p.a.v[a] * p.factor;
    case kSoftcap:
      return p.factor * tanh_of(p.a.v[a] / p.factor);
    case kAct:
      return activate(p.kind, p.a.v[a]);
    case kActMul:
      return act_mul(p.kind, p.a.v[a], p.b.v[b]);
    case kSlice:
      return p.a.v[a + p.begin];
    case kConcat: {
      const uint head = i / (p.a_part + p.b_part), at = i % (p.a_part + p.b_part);
      return at < p.a_part ? p.a.v[t * p.a_stride + head * p.a_part + at]
                           : p.b.v[t * p.b_stride + head * p.b_part + at - p.a_part];
    }
    case kGatherRows:
      return p.a.v[uint(p.rows.v[t]) * p.a_stride + i];
    case kPoolFirst:
      return p.a.v[uint(p.rows.v[2 * t]) * p.a_stride + i];
    case kPoolMean: {
      const uint first = uint(p.rows.v[2 * t]), n = uint(p.rows.v[2 * t + 1]);
      float sum = 0.0;
      for (uint j = 0; j < n; ++j) sum += p.a.v[(first + j) * p.a_stride + i];
      return sum / float(n);
    }
  }
  return 0.0;
}

void main() {
  const uint i = gl_GlobalInvocationID.x, t = gl_WorkGroupID.y;
  if (i < p.width) p.y.v[t * p.y_stride + i] = value(t, i);
}
