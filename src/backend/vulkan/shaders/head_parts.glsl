// head_norm and rope of a head that lies in shared memory, by one subgroup: the sums and products of norm.comp and
// rope.comp. The including program has the array head_values, gain_of(which, i), 1 where there is none, and the row's
// angle_of(i): cosine and sine of a pair after another.
//
// All subgroups of a workgroup call these together, whether they have a head (`mine`) or not: Mesa's CPU driver (25 and 26)
// takes a barrier of a subgroup for one of the workgroup, and goes wrong where some do not come to it.
void meet() {
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}

void norm_head(bool mine, uint at, uint dim, uint which, float eps) {
  if (mine) {
    precise float squares = 0.0;
    for (uint i = gl_SubgroupInvocationID; i < dim; i += kLanes) squares += head_values[at + i] * head_values[at + i];
    precise const float factor = 1.0 / sqrt(subgroupAdd(squares) / float(dim) + eps);
    for (uint i = gl_SubgroupInvocationID; i < dim; i += kLanes) {
      precise float y = head_values[at + i] * factor;
      y *= gain_of(which, i);
      head_values[at + i] = y;
    }
  }
  meet();
}

void rotate_head(bool mine, uint at, uint n_rot, bool neox) {
  const uint pairs = n_rot / 2;
  if (mine) {
    for (uint i = gl_SubgroupInvocationID; i < pairs; i += kLanes) {
      const uint first = at + (neox ? i : 2 * i), second = at + (neox ? i + pairs : 2 * i + 1);
      const float c = angle_of(2 * i), s = angle_of(2 * i + 1);
      const float u = head_values[first], v = head_values[second];
      precise const float a = u * c - v * s, b = u * s + v * c;
      head_values[first] = a;
      head_values[second] = b;
    }
  }
  meet();
}
