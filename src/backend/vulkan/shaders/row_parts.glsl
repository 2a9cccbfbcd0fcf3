// What becomes of a row whose values load_row(t, block, x) gives: kept in f32, normed, left in f32 and in int8, whichever of
// these there are. The including program has p.width and the addresses and strides that its constants ask for.
layout(constant_id = 2) const uint kKeepSum = 0;  // the values themselves are kept
layout(constant_id = 3) const uint kNorm = 1;     // 0: none, 1: root mean square, 2: centred too
layout(constant_id = 4) const uint kFloatOut = 1;
layout(constant_id = 5) const uint kInt8Out = 0;

void store_block(uint64_t row, uint block, vec4 x[8]) {
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    const uint at = 32 * block + 4 * i;
    if (at + 4 <= p.width) {
      VectorsOut(row).v[at / 4] = x[i];
    } else {
      for (uint j = 0; at + j < p.width; ++j) Output(row).v[at + j] = x[i][j];
    }
  }
}

// Both go over the blocks of each thread; `x` is its first one, which stays loaded.
float mean_of_row(uint t, uint blocks, vec4 x[8]) {
  float sum = 0.0;
  for (uint block = thread_index(); block < blocks && thread_index() < 256; block += 256) {
    if (block >= 256) load_row(t, block, x);
    [[unroll]] for (uint i = 0; i < 8; ++i) sum += x[i].x + x[i].y + x[i].z + x[i].w;
  }
  return sum_of_threads(sum) / float(p.width);
}

float factor_of_row(uint t, uint blocks, float mean, vec4 x[8]) {
  float squares = 0.0;
  for (uint block = thread_index(); block < blocks && thread_index() < 256; block += 256) {
    if (block >= 256) load_row(t, block, x);
    if (kNorm == 2) {
      [[unroll]] for (uint i = 0; i < 8; ++i) {
        [[unroll]] for (uint j = 0; j < 4; ++j) x[i][j] = 32 * block + 4 * i + j < p.width ? x[i][j] - mean : 0.0;
      }
    }
    squares = squares_of(x, squares);
  }
  return norm_factor(sum_of_threads(squares), p.width, p.eps);
}

void load_gain(uint block, out vec4 gain[8]) {
  if (kNorm != 0 && p.gain != 0) load_block(p.gain, block, p.width, gain);
}
void norm_block(uint block, float mean, float factor, vec4 gain[8], inout vec4 x[8]) {
  vec4 bias[8];
  if (BIAS_OF_NORM != 0) load_block(BIAS_OF_NORM, block, p.width, bias);
  [[unroll]] for (uint i = 0; i < 8; ++i) {
    precise vec4 y = (x[i] - mean) * factor;
    if (p.gain != 0) y *= gain[i];
    if (BIAS_OF_NORM != 0) y += bias[i];
    x[i] = y;
  }
}

void make_row(uint t) {
  const uint blocks = (p.width + 31) / 32, thread = thread_index();
  vec4 x[8], gain[8];
  if (thread < blocks) {
    load_row(t, thread, x);
    load_gain(thread, gain);  // under way while the norm is found
  }
  const float mean = kNorm == 2 ? mean_of_row(t, blocks, x) : 0.0;
  const float factor = kNorm != 0 ? factor_of_row(t, blocks, mean, x) : 1.0;
  for (uint block = thread; block < blocks; block += kThreads) {
    if (block >= kThreads) {
      load_row(t, block, x);
      load_gain(block, gain);
    }
    if (kKeepSum != 0) store_block(p.sum + 4ul * (t * p.sum_stride), block, x);
    if (kNorm != 0) norm_block(block, mean, factor, gain, x);
    if (kFloatOut != 0) store_block(p.y + 4ul * (t * p.y_stride), block, x);
    if (kInt8Out != 0) {
      const Quantized32 q = quantize(x);
      QuadsOut codes = QuadsOut(p.codes + uint64_t(t * p.code_stride));
      codes.v[2 * block] = q.codes[0];
      codes.v[2 * block + 1] = q.codes[1];
      PairsOut(p.meta).v[t * p.meta_stride + block] = q.meta;
    }
  }
}
