#version 460
// rms_norm, head_norm, layer_norm: one subgroup a head of a row.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
layout(push_constant) uniform Push {
  Floats x, gain, bias;
  Output y;
  uint x_stride, y_stride, dim;
  uint gain_step, bias_step;  // from head to head; of what there is
  uint has_gain, has_bias, centred;
  float eps;
} p;

void main() {
  const uint lane = gl_LocalInvocationID.x, h = gl_WorkGroupID.x, t = gl_WorkGroupID.y;
  const uint from = t * p.x_stride + h * p.dim, to = t * p.y_stride + h * p.dim;
  float mean = 0.0;
  if (p.centred != 0) {
    float sum = 0.0;
    for (uint i = lane; i < p.dim; i += kLanes) sum += p.x.v[from + i];
    mean = subgroupAdd(sum) / float(p.dim);
  }
  precise float squares = 0.0;
  for (uint i = lane; i < p.dim; i += kLanes) {
    precise const float d = p.x.v[from + i] - mean;
    squares += d * d;
  }
  precise const float factor = 1.0 / sqrt(subgroupAdd(squares) / float(p.dim) + p.eps);
  for (uint i = lane; i < p.dim; i += kLanes) {
    precise float y = (p.x.v[from + i] - mean) * factor;
    if (p.has_gain != 0) y *= p.gain.v[h * p.gain_step + i];
    if (p.has_bias != 0) y += p.bias.v[h * p.bias_step + i];
    p.y.v[to + i] = y;
  }
}
