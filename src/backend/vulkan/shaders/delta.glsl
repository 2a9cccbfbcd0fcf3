// What the delta rule needs of a token besides its state.
float inverse_length(float squares) { return 1.0 / sqrt(squares + 1e-6); }
// What is kept of the state, and β.
vec2 gates_of(float dt, float b, float decay, float bias) {
  return vec2(exp(decay * softplus(dt + bias)), sigmoid(b));
}
