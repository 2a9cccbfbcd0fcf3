#version 460
// A short convolution over the rows of each sequence. One thread a channel of kRun rows (≥ kTaps − 1): rows before the
// run are read again, rows before the step come from the state.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "recurrent.glsl"
layout(local_size_x = 64) in;
layout(constant_id = 1) const uint kTaps = 4;
layout(constant_id = 2) const uint kRun = 32;
#include "conv.glsl"
layout(push_constant) uniform Push {
  Floats u, w, bias;
  Output y;
  Ints parts, snapshots;
  uint64_t pool;
  uint page_bytes, state_at;  // of the layer within a page
  uint width, u_stride, y_stride;
  uint has_bias, silu;
} p;

void keep(int page, uint c, float window[kWindow]) {
  Output to = Output(p.pool + uint64_t(page) * p.page_bytes + p.state_at);
  for (uint j = 1; j < kTaps; ++j) to.v[(j - 1) * p.width + c] = window[j];
}

void main() {
  const uint c = gl_GlobalInvocationID.x, turn = gl_NumWorkGroups.z * kRun;
  if (c >= p.width) return;
  const Part part = part_at(p.parts, gl_WorkGroupID.y);
  float w[kWindow];
  for (uint j = 0; j < kTaps; ++j) w[j] = p.w.v[c * kTaps + j];
  const float bias = p.has_bias != 0 ? p.bias.v[c] : 0.0;
  float before[kTaps];  // the rows before the part, oldest first, from 1 on
  before[0] = 0.0;
  for (uint j = 1; j < kTaps; ++j) {
    before[j] = 0.0;
    if (gl_WorkGroupID.z == 0 && part.from >= 0)
      before[j] = Floats(p.pool + uint64_t(part.from) * p.page_bytes + p.state_at).v[(j - 1) * p.width + c];
  }
  for (uint first = part.begin + gl_WorkGroupID.z * kRun; first < part.end; first += turn) {
    float window[kWindow];
    for (uint j = 0; j < kTaps; ++j)
      window[j] = first == part.begin || j == 0 ? before[j] : p.u.v[(first + j - kTaps) * p.u_stride + c];
    const uint end = min(first + kRun, part.end);
    for (uint t = first; t < end; ++t) {
      push_row(window, p.u.v[t * p.u_stride + c]);
      p.y.v[t * p.y_stride + c] = convolved(w, window, bias, p.silu != 0);
      if (p.snapshots.v[t] >= 0) keep(p.snapshots.v[t], c, window);
    }
  }
  if (gl_WorkGroupID.z != 0) return;
  // Who has read the state writes it, for both may be one page.
  const uint length = part.end - part.begin;
  float window[kWindow];
  window[0] = 0.0;
  for (uint j = 1; j < kTaps; ++j)
    window[j] = length + j >= kTaps ? p.u.v[(part.end + j - kTaps) * p.u_stride + c] : before[j + length];
  keep(part.to, c, window);
}
