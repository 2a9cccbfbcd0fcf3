#version 460
// The experts of a row, a subgroup a row: route.glsl.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "lanes.glsl"
layout(constant_id = 1) const uint kRouteExperts = 1;
layout(constant_id = 2) const uint kRouteGroups = 1;
layout(push_constant) uniform Push {
  Floats logits;
  uint64_t bias;
  Floats expert_scale;
  Output route;
  uint used, logits_stride, route_stride;
  uint score, has_scale, renormalize;
  float min_sum, scale;
  uint groups_used, group_by_two;
} p;
#include "route.glsl"

void main() {
  const uint lane = gl_SubgroupInvocationID, t = gl_WorkGroupID.x, at = t * p.route_stride;
  const Routing r = Routing(p.score, p.bias, p.groups_used, p.group_by_two != 0, p.renormalize != 0, p.min_sum, p.scale);
  score_experts(uint64_t(p.logits) + 4ul * (t * p.logits_stride), r);
  select_experts(p.used);
  for (uint i = lane; i < p.used; i += kLanes) {
    float w = weight_of(i, p.used, r);
    if (p.has_scale != 0) w *= p.expert_scale.v[picked_at[i]];
    p.route.v[at + i] = float(picked_at[i]);
    p.route.v[at + p.used + i] = w;
  }
}
