#version 460
// The matrix unit with its operands in registers: eight sums that do not wait for each other.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrix.glsl"
layout(push_constant) uniform Push {
  Output to;
  uint turns;
  float factor;
} p;

void main() {
  const MatrixA a = MatrixA(float16_t(p.factor));
  const MatrixB b = MatrixB(float16_t(p.factor));
  MatrixC sum[8];
  [[unroll]] for (uint i = 0; i < 8; ++i) sum[i] = MatrixC(float(i));
  for (uint turn = 0; turn < p.turns; ++turn) {
    [[unroll]] for (uint i = 0; i < 8; ++i) sum[i] = coopMatMulAdd(a, b, sum[i]);
  }
  float all = 0.0;
  [[unroll]] for (uint i = 0; i < 8; ++i) all += sum[i][0];
  if (all == -1.0) p.to.v[0] = 1.0;  // sums are positive
}
