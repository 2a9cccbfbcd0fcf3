// What a channel makes of its last kTaps rows, the oldest first, with the same bits in every program. The including file has
// kTaps; 0: it has no convolution.
const uint kWindow = kTaps > 0 ? kTaps : 1;

float convolved(float w[kWindow], float window[kWindow], float bias, bool silu) {
  precise float sum = 0.0;
  [[unroll]] for (uint j = 0; j < kWindow; ++j) sum = fma(w[j], window[j], sum);
  sum += bias;
  return silu ? sum * sigmoid(sum) : sum;
}
void push_row(inout float window[kWindow], float u) {
  [[unroll]] for (uint j = 1; j < kWindow; ++j) window[j - 1] = window[j];
  window[kWindow - 1] = u;
}
