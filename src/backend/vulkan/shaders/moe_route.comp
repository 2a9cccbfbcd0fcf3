#version 460
// Which experts a row uses, and their weights (RouteAttrs in graph/graph.h). One subgroup a row; NaN counts as
// infinite, so that it is selected and reaches the result.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
layout(constant_id = 1) const uint kExperts = 1;
layout(constant_id = 2) const uint kGroups = 1;
const uint kSoftmax = 0, kSigmoidScore = 1, kSoftmaxOfSelected = 2;
layout(push_constant) uniform Push {
  Floats logits, bias, expert_scale;
  Output route;
  uint used, logits_stride, route_stride;
  uint score, has_bias, has_scale, renormalize;
  float min_sum, scale;
  uint groups_used, group_by_two;
} p;
shared float own[kExperts], choice[kExperts], group_score[kGroups];
shared float picked[kExperts];  // weights of the selected, in their order
shared uint picked_at[kExperts];

void meet() {
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}
float shown(float x) { return isnan(x) ? kInfinity : x; }

void drop_groups() {
  const uint lane = gl_LocalInvocationID.x, size = kExperts / kGroups;
  for (uint g = lane; g < kGroups; g += kLanes) {
    float first = -kInfinity, second = -kInfinity;
    for (uint i = 0; i < size; ++i) {
      const float x = shown(choice[g * size + i]);
      if (x > first) {
        second = first;
        first = x;
      } else if (x > second) {
        second = x;
      }
    }
    group_score[g] = p.group_by_two != 0 && size > 1 ? first + second : first;
  }
  meet();
  // A group stays if fewer than groups_used come before it.
  for (uint g = lane; g < kGroups; g += kLanes) {
    uint before = 0;
    for (uint o = 0; o < kGroups; ++o) {
      if (group_score[o] > group_score[g] || (group_score[o] == group_score[g] && o < g)) ++before;
    }
    if (before >= p.groups_used) {
      for (uint i = 0; i < size; ++i) choice[g * size + i] = -kInfinity;
    }
  }
  meet();
}

// Words in the order of floats: whole numbers are compared over a subgroup at once.
uint order_of(float x) {
  const uint bits = floatBitsToUint(x == 0.0 ? 0.0 : x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// The `used` largest choices, the lowest number first among equals. A lane looks at its own experts in registers.
const uint kTurns = (kExperts + kLanes - 1) / kLanes;
void select() {
  const uint lane = gl_LocalInvocationID.x;
  uint left[kTurns];
  [[unroll]] for (uint j = 0; j < kTurns; ++j) {
    const uint e = j * kLanes + lane;
    left[j] = e < kExperts ? order_of(shown(choice[e])) : 0;  // 0: there is none
  }
  for (uint i = 0; i < p.used; ++i) {
    uint top = 0, at = kExperts;
    [[unroll]] for (uint j = 0; j < kTurns; ++j) {
      if (left[j] <= top) continue;
      top = left[j];
      at = j * kLanes + lane;
    }
    const uint best = subgroupMax(top);
    const uint e = subgroupMin(top == best ? at : kExperts);
    [[unroll]] for (uint j = 0; j < kTurns; ++j) {
      if (j * kLanes + lane == e) left[j] = order_of(-kInfinity);
    }
    if (lane == 0) {
      picked_at[i] = e;
      picked[i] = own[e];
    }
  }
  meet();
}

void main() {
  const uint lane = gl_LocalInvocationID.x, t = gl_WorkGroupID.x;
  float largest = -kInfinity;
  for (uint e = lane; e < kExperts; e += kLanes) largest = max(largest, p.logits.v[t * p.logits_stride + e]);
  largest = subgroupMax(largest);
  float sum = 0.0;
  for (uint e = lane; e < kExperts; e += kLanes) {
    const float x = p.logits.v[t * p.logits_stride + e];
    own[e] = p.score == kSoftmax ? exp(x - largest) : p.score == kSigmoidScore ? sigmoid(x) : x;
    sum += own[e];
  }
  sum = subgroupAdd(sum);
  for (uint e = lane; e < kExperts; e += kLanes) {
    if (p.score == kSoftmax) own[e] /= sum;
    choice[e] = own[e] + (p.has_bias != 0 ? p.bias.v[e] : 0.0);
  }
  meet();
  if (p.groups_used < kGroups) drop_groups();
  const uint out_at = t * p.route_stride;
  select();
  float top = -kInfinity, all = 0.0, selected = 0.0;
  if (p.score == kSoftmaxOfSelected) {
    for (uint i = 0; i < p.used; ++i) top = max(top, picked[i]);
    for (uint i = 0; i < p.used; ++i) selected += exp(picked[i] - top);
  }
  for (uint i = 0; i < p.used; ++i) all += p.score == kSoftmaxOfSelected ? exp(picked[i] - top) / selected : picked[i];
  for (uint i = lane; i < p.used; i += kLanes) {
    float w = p.score == kSoftmaxOfSelected ? exp(picked[i] - top) / selected : picked[i];
    if (p.renormalize != 0) w /= max(all, p.min_sum);
    w *= p.scale;
    if (p.has_scale != 0) w *= p.expert_scale.v[picked_at[i]];
    p.route.v[out_at + i] = float(picked_at[i]);
    p.route.v[out_at + p.used + i] = w;
  }
}
