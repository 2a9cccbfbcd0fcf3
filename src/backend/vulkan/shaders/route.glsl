// Which experts a row uses, and their weights (RouteAttrs in graph/graph.h), by one subgroup of a workgroup. NaN counts as
// infinite, so that it is selected and reaches the result. The including program has kRouteExperts, kRouteGroups, kLanes.
const uint kSoftmax = 0, kSigmoidScore = 1, kSoftmaxOfSelected = 2;
struct Routing {
  uint score;
  uint64_t bias;  // of the choice; 0: none
  uint groups_used;
  bool group_by_two, renormalize;
  float min_sum, scale;
};
shared float own[kRouteExperts], choice[kRouteExperts], group_score[kRouteGroups];
// Weights of the selected, in their order, and which they are.
const uint kMostUsed = kRouteExperts < 128 ? kRouteExperts : 128;
shared float picked[kMostUsed];
shared uint picked_at[kMostUsed];

void subgroup_meets() {
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}
float shown(float x) { return isnan(x) ? kInfinity : x; }

void drop_groups(Routing r) {
  const uint lane = gl_SubgroupInvocationID, size = kRouteExperts / kRouteGroups;
  for (uint g = lane; g < kRouteGroups; g += kLanes) {
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
    group_score[g] = r.group_by_two && size > 1 ? first + second : first;
  }
  subgroup_meets();
  // A group stays if fewer than groups_used come before it.
  for (uint g = lane; g < kRouteGroups; g += kLanes) {
    uint before = 0;
    for (uint o = 0; o < kRouteGroups; ++o) {
      if (group_score[o] > group_score[g] || (group_score[o] == group_score[g] && o < g)) ++before;
    }
    if (before >= r.groups_used) {
      for (uint i = 0; i < size; ++i) choice[g * size + i] = -kInfinity;
    }
  }
  subgroup_meets();
}

// Words in the order of floats: whole numbers are compared over a subgroup at once.
uint order_of(float x) {
  const uint bits = floatBitsToUint(x == 0.0 ? 0.0 : x);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

// A lane looks at its own experts in registers.
const uint kRouteTurns = (kRouteExperts + kLanes - 1) / kLanes;
uint expert_of(uint j) { return j * kLanes + gl_SubgroupInvocationID; }

void score_experts(uint64_t logits, Routing r) {
  precise float x[kRouteTurns];
  float largest = -kInfinity, sum = 0.0;
  [[unroll]] for (uint j = 0; j < kRouteTurns; ++j) {
    x[j] = Floats(logits).v[min(expert_of(j), kRouteExperts - 1)];
    largest = max(largest, x[j]);
  }
  largest = subgroupMax(largest);
  [[unroll]] for (uint j = 0; j < kRouteTurns; ++j) {
    if (expert_of(j) >= kRouteExperts) break;
    if (r.score == kSoftmax) x[j] = exp(x[j] - largest);
    if (r.score == kSigmoidScore) x[j] = sigmoid(x[j]);
    sum += x[j];
  }
  sum = subgroupAdd(sum);
  [[unroll]] for (uint j = 0; j < kRouteTurns; ++j) {
    const uint e = expert_of(j);
    if (e >= kRouteExperts) break;
    if (r.score == kSoftmax) x[j] /= sum;
    own[e] = x[j];
    choice[e] = x[j] + (r.bias != 0 ? Floats(r.bias).v[e] : 0.0);
  }
  subgroup_meets();
  if (r.groups_used < kRouteGroups) drop_groups(r);
}

// The `count` largest choices, the lowest number first among equals.
void select_experts(uint count) {
  uint left[kRouteTurns];
  [[unroll]] for (uint j = 0; j < kRouteTurns; ++j)
    left[j] = expert_of(j) < kRouteExperts ? order_of(shown(choice[expert_of(j)])) : 0;  // 0: there is none
  for (uint i = 0; i < count; ++i) {
    uint top = 0, at = kRouteExperts;
    [[unroll]] for (uint j = 0; j < kRouteTurns; ++j) {
      if (left[j] <= top) continue;
      top = left[j];
      at = expert_of(j);
    }
    const uint best = subgroupMax(top);
    const uint e = subgroupMin(top == best ? at : kRouteExperts);
    [[unroll]] for (uint j = 0; j < kRouteTurns; ++j) {
      if (expert_of(j) == e) left[j] = order_of(-kInfinity);
    }
    if (gl_SubgroupInvocationID == 0) {
      picked_at[i] = e;
      picked[i] = own[e];
    }
  }
  subgroup_meets();
}

// Of all `used` that were selected: the weight of number i, before an expert's own scale.
float weight_of(uint i, uint used, Routing r) {
  const bool selected_only = r.score == kSoftmaxOfSelected;
  float top = -kInfinity, selected = 0.0, all = 0.0;
  if (selected_only) {
    for (uint k = 0; k < used; ++k) top = max(top, picked[k]);
    for (uint k = 0; k < used; ++k) selected += exp(picked[k] - top);
  }
  for (uint k = 0; k < used; ++k) all += selected_only ? exp(picked[k] - top) / selected : picked[k];
  float w = selected_only ? exp(picked[i] - top) / selected : picked[i];
  if (r.renormalize) w /= max(all, r.min_sum);
  return w * r.scale;
}
