// exp, tanh and erf on 16 lanes: one polynomial each, the same bits wherever a value stands. NaN stays NaN.
#pragma once

#include "backend/cpu/isa/vec.h"

namespace {

BRASS_INLINE F abs(F x) { return as_float(as_int(x) & set_i(0x7fffffff)); }
BRASS_INLINE F with_sign_of(F magnitude, F x) {
  return as_float(as_int(magnitude) | (as_int(x) & set_i(INT32_MIN)));
}

// e^x, ≤ 1 ulp in −87.3 … 88.3; 0 below (so exp(−∞) = 0), e^88.3 above. exp(0) = 1 exactly.
// x = n ln 2 + r, |r| ≤ ln 2 / 2; the polynomial is the Cephes library's (S. Moshier, expf).
BRASS_INLINE F exp(F x) {
  const F lowest = set(-87.33f);
  const F bounded = max(lowest, min(set(88.3f), x));  // NaN is the second operand: it passes
  const F n = round_even(bounded * set(1.44269504088896341f));
  F r = fma(n, set(-0.693359375f), bounded);
  r = fma(n, set(2.12194440e-4f), r);
  F p = set(1.9875691500e-4f);
  p = fma(p, r, set(1.3981999507e-3f));
  p = fma(p, r, set(8.3334519073e-3f));
  p = fma(p, r, set(4.1665795894e-2f));
  p = fma(p, r, set(1.6666665459e-1f));
  p = fma(p, r, set(5.0000001201e-1f));
  p = fma(p, r * r, r) + set(1.0f);
  const F power = as_float(shl<23>(to_int(n) + set_i(127)));
  return if_less(x, lowest, zero(), p * power);
}

// 1 / (1 + e^−x).
BRASS_INLINE F sigmoid(F x) { return set(1.0f) / (set(1.0f) + exp(negate(x))); }

// Cephes tanhf: an odd polynomial near 0, else 1 − 2 / (e^2|x| + 1).
BRASS_INLINE F tanh(F x) {
  const F a = abs(x), z = x * x;
  F p = set(-5.70498872745e-3f);
  p = fma(p, z, set(2.06390887954e-2f));
  p = fma(p, z, set(-5.37397155531e-2f));
  p = fma(p, z, set(1.33314422036e-1f));
  p = fma(p, z, set(-3.33332819422e-1f));
  const F near = fma(p * z, x, x);
  const F far = set(1.0f) - set(2.0f) / (exp(a + a) + set(1.0f));
  return if_less(a, set(0.625f), near, with_sign_of(far, x));
}

// erfc(z) for z ≥ 0, relative error ≤ 1.2e-7 plus that of exp (Numerical Recipes, erfcc's Chebyshev fit).
BRASS_INLINE F erfc_positive(F z) {
  const F t = set(1.0f) / fma(z, set(0.5f), set(1.0f));
  F p = set(0.17087277f);
  p = fma(p, t, set(-0.82215223f));
  p = fma(p, t, set(1.48851587f));
  p = fma(p, t, set(-1.13520398f));
  p = fma(p, t, set(0.27886807f));
  p = fma(p, t, set(-0.18628806f));
  p = fma(p, t, set(0.09678418f));
  p = fma(p, t, set(0.37409196f));
  p = fma(p, t, set(1.00002368f));
  p = fma(p, t, set(-1.26551223f));
  return t * exp(fma(negate(z), z, p));
}

// x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³))) = x · sigmoid of twice that argument.
BRASS_INLINE F gelu_tanh(F x) {
  const F u = fma(x * x * x, set(0.044715f), x) * set(1.5957691216057308f);
  return x * sigmoid(u);
}

// x · ½ (1 + erf(x / √2)) = x · ½ erfc(−x / √2).
BRASS_INLINE F gelu_erf(F x) {
  const F tail = erfc_positive(abs(x) * set(0.70710678118654752f));  // 2 · (1 − Φ(|x|))
  const F phi_twice = if_less(x, zero(), tail, set(2.0f) - tail);
  return x * set(0.5f) * phi_twice;
}

}  // namespace
