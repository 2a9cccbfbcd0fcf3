// The norm of a row by the first 256 threads of a workgroup, each taking blocks of 32 values: the same bits wherever it is
// computed. Needs subgroups.glsl and int8.glsl.
shared float norm_sums[256];

// Block b of a row, zeros from `width` on. Rows begin at multiples of 64 bytes and have room up to a multiple of 16. A whole
// block is loaded without a question in between, so that its loads are under way together.
void load_block(uint64_t row, uint b, uint width, out vec4 x[8]) {
  if (32 * b + 32 <= width) {
    [[unroll]] for (uint i = 0; i < 8; ++i) x[i] = Vectors(row).v[8 * b + i];
    return;
  }
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    x[i] = vec4(0.0);
    [[unroll]] for (uint j = 0; j < 4; ++j) {
      if (32 * b + 4 * i + j < width) x[i][j] = Floats(row).v[32 * b + 4 * i + j];
    }
  }
}

// Σ over all threads, known to all; in the order of threads, whatever their number above 256.
float sum_of_threads(float mine) {
  const float sum = subgroupAdd(mine);
  if (gl_SubgroupInvocationID == 0 && gl_SubgroupID < 256 / kLanes) norm_sums[gl_SubgroupID] = sum;
  barrier();
  float total = 0.0;
  for (uint i = 0; i < 256 / kLanes; ++i) total += norm_sums[i];
  barrier();
  return total;
}
float squares_of(vec4 x[8], float sum) {
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    [[unroll]] for (uint j = 0; j < 4; ++j) sum = fma(x[i][j], x[i][j], sum);
  }
  return sum;
}
float norm_factor(float squares, uint width, float eps) {
  precise const float factor = 1.0 / sqrt(squares / float(width) + eps);
  return factor;
}
