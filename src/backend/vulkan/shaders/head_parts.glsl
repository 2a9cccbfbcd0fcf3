// head_norm and rope of a head that lies in shared memory, by one subgroup: the sums and products of norm.comp and
// rope.comp. The including program has the array head_values.
void meet() {
  subgroupMemoryBarrierShared();
  subgroupBarrier();
}

// `gain`: address of the head's, 0: none.
void norm_head(uint at, uint dim, uint64_t gain, float eps) {
  precise float squares = 0.0;
  for (uint i = gl_SubgroupInvocationID; i < dim; i += kLanes) squares += head_values[at + i] * head_values[at + i];
  precise const float factor = 1.0 / sqrt(subgroupAdd(squares) / float(dim) + eps);
  for (uint i = gl_SubgroupInvocationID; i < dim; i += kLanes) {
    precise float y = head_values[at + i] * factor;
    if (gain != 0) y *= Floats(gain).v[i];
    head_values[at + i] = y;
  }
  meet();
}

// `table`: address of the row's pairs.
void rotate_head(uint at, uint n_rot, bool neox, uint64_t table) {
  const uint pairs = n_rot / 2;
  for (uint i = gl_SubgroupInvocationID; i < pairs; i += kLanes) {
    const uint first = at + (neox ? i : 2 * i), second = at + (neox ? i + pairs : 2 * i + 1);
    const float c = Floats(table).v[2 * i], s = Floats(table).v[2 * i + 1];
    const float u = head_values[first], v = head_values[second];
    precise const float a = u * c - v * s, b = u * s + v * c;
    head_values[first] = a;
    head_values[second] = b;
  }
  meet();
}
