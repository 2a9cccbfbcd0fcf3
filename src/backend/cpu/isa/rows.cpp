// Functions of one row of one tier. Sums run over 16 lanes in an order that depends on the length only.
#include "backend/cpu/isa/lanes.h"
#include "backend/cpu/isa/math.h"
#include "backend/cpu/parts.h"

namespace brass::cpu {
namespace {

// 0, or NaN if any value is infinite or NaN.
BRASS_INLINE F taint(F x, F so_far) { return fma(x, zero(), so_far); }

BRASS_INLINE F clamp_code(F x) { return max(set(-127.0f), min(set(127.0f), x)); }

template <bool two_terms>
BRASS_INLINE void quantize_terms(const float* x, uint32_t k, int8_t* codes, int8_t* seconds, float* scale,
                                 float* sums) {
  for (uint32_t b = 0; b < k / 32; ++b, x += 32, codes += 32) {
    const F low = loadu(x), high = loadu(x + 16);
    const float bad = sum(taint(low, taint(high, zero())));
    const float most = largest(max(abs(low), abs(high)));
    const F inverse = set(most > 0.0f ? 127.0f / most : 0.0f);
    // Magnitudes near the smallest float have no finite inverse: clamp what comes of it.
    const F low_exact = low * inverse, high_exact = high * inverse;
    const F q_low = clamp_code(round_even(low_exact)), q_high = clamp_code(round_even(high_exact));
    store_s8(codes, to_int(q_low));
    store_s8(codes + 16, to_int(q_high));
    if constexpr (two_terms) {
      store_s8(seconds, to_int(clamp_code(round_even((low_exact - q_low) * set(256.0f)))));
      store_s8(seconds + 16, to_int(clamp_code(round_even((high_exact - q_high) * set(256.0f)))));
      seconds += 32;
    }
    scale[b] = most / 127.0f + bad;
    sums[b] = scale[b] * sum(q_low + q_high);
  }
  if (k % 64 == 0) return;
  __builtin_memset(codes, 0, 64 - k % 64);
  if constexpr (two_terms) __builtin_memset(seconds, 0, 64 - k % 64);
}

void quantize(const float* x, uint32_t k, int8_t* codes, int8_t* seconds, float* scale, float* sums) {
  if (seconds == nullptr)
    quantize_terms<false>(x, k, codes, nullptr, scale, sums);
  else
    quantize_terms<true>(x, k, codes, seconds, scale, sums);
}

void rms_norm(const float* x, const float* gain, uint32_t n, float eps, float* y) {
  const float squares = total(x, n, [](F a, F s) BRASS_LAMBDA { return fma(a, a, s); });
  const F inverse = set(1.0f / __builtin_sqrtf(squares / static_cast<float>(n) + eps));
  for_lanes(n, [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA {
    F a = get(x + i, lanes) * inverse;
    if (gain != nullptr) a = a * get(gain + i, lanes);
    put(y + i, a, lanes);
  });
}

void layer_norm(const float* x, const float* gain, const float* bias, uint32_t n, float eps, float* y) {
  const float mean = total(x, n, [](F a, F s) BRASS_LAMBDA { return a + s; }) / static_cast<float>(n);
  // Lanes that load_part fills with 0 must not count as −mean: one value at a time there (see total).
  const F m = set(mean);
  float squares = 0.0f;
  uint32_t whole = n / 16 * 16;
  squares = total(x, whole, [&](F a, F s) BRASS_LAMBDA { return fma(a - m, a - m, s); });
  for (uint32_t i = whole; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  const F inverse = set(1.0f / __builtin_sqrtf(squares / static_cast<float>(n) + eps));
  for_lanes(n, [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA {
    F a = (get(x + i, lanes) - m) * inverse;
    if (gain != nullptr) a = a * get(gain + i, lanes);
    if (bias != nullptr) a = a + get(bias + i, lanes);
    put(y + i, a, lanes);
  });
}

void add(const float* a, const float* b, uint32_t n, float* y) {
  for_lanes(n, [&](uint32_t i, uint32_t lanes)
                   BRASS_LAMBDA { put(y + i, get(a + i, lanes) + get(b + i, lanes), lanes); });
}

void mul(const float* a, const float* b, uint32_t n, float* y) {
  for_lanes(n, [&](uint32_t i, uint32_t lanes)
                   BRASS_LAMBDA { put(y + i, get(a + i, lanes) * get(b + i, lanes), lanes); });
}

void scale(const float* x, float s, uint32_t n, float* y) {
  for_lanes(n,
            [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA { put(y + i, get(x + i, lanes) * set(s), lanes); });
}

void softcap(const float* x, float cap, uint32_t n, float* y) {
  const F c = set(cap), inverse = set(1.0f / cap);
  for_lanes(n, [&](uint32_t i, uint32_t lanes)
                   BRASS_LAMBDA { put(y + i, tanh(get(x + i, lanes) * inverse) * c, lanes); });
}

// f(kind as a constant): one loop for each kind.
template <class Fn>
BRASS_INLINE void with_act(ActKind kind, Fn f) {
  switch (kind) {
    case ActKind::kSilu:
      return f([](F x) BRASS_LAMBDA { return x * sigmoid(x); });
    case ActKind::kGeluTanh:
      return f([](F x) BRASS_LAMBDA { return gelu_tanh(x); });
    case ActKind::kGeluErf:
      return f([](F x) BRASS_LAMBDA { return gelu_erf(x); });
    case ActKind::kRelu:
      return f([](F x) BRASS_LAMBDA { return max(zero(), x); });
    case ActKind::kReluSquared:
      return f([](F x) BRASS_LAMBDA {
        const F r = max(zero(), x);
        return r * r;
      });
    case ActKind::kSigmoid:
      return f([](F x) BRASS_LAMBDA { return sigmoid(x); });
    case ActKind::kIdentity:
      return f([](F x) BRASS_LAMBDA { return x; });
    case ActKind::kClampedSwiglu:
      return f([](F x) BRASS_LAMBDA {
        const F g = min(set(7.0f), x);
        return g * sigmoid(g * set(1.702f));
      });
  }
}

void act(ActKind kind, const float* x, uint32_t n, float* y) {
  with_act(kind, [&](auto fn) BRASS_LAMBDA {
    for_lanes(n, [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA { put(y + i, fn(get(x + i, lanes)), lanes); });
  });
}

void act_mul(ActKind kind, const float* gate, const float* up, uint32_t n, float* y) {
  if (kind == ActKind::kClampedSwiglu) {
    act(kind, gate, n, y);
    for_lanes(n, [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA {
      const F u = max(set(-7.0f), min(set(7.0f), get(up + i, lanes)));
      put(y + i, get(y + i, lanes) * (u + set(1.0f)), lanes);
    });
    return;
  }
  with_act(kind, [&](auto fn) BRASS_LAMBDA {
    for_lanes(n, [&](uint32_t i, uint32_t lanes)
                     BRASS_LAMBDA { put(y + i, fn(get(gate + i, lanes)) * get(up + i, lanes), lanes); });
  });
}

void rope(float* head, uint32_t n_rot, bool neox, const float* cos_sin) {
  const uint32_t half = n_rot / 2;
  uint32_t i = 0;
  for (; i + 16 <= half; i += 16) {
    F c, s, x, y;
    load_pairs(cos_sin + 2 * i, c, s);
    if (neox) {
      x = loadu(head + i), y = loadu(head + i + half);
    } else {
      load_pairs(head + 2 * i, x, y);
    }
    const F turned_x = x * c - y * s, turned_y = x * s + y * c;
    if (neox) {
      storeu(head + i, turned_x);
      storeu(head + i + half, turned_y);
    } else {
      store_pairs(head + 2 * i, turned_x, turned_y);
    }
  }
  for (; i < half; ++i) {
    float* a = neox ? head + i : head + 2 * i;
    float* b = neox ? head + i + half : head + 2 * i + 1;
    const float c = cos_sin[2 * i], s = cos_sin[2 * i + 1], x = *a, y = *b;
    *a = x * c - y * s;
    *b = x * s + y * c;
  }
}

int32_t argmax(const float* x, uint32_t n) {
  if (n == 0) return -1;
  F best = set(x[0]), bad = zero();
  for_lanes(n, [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA {
    const F a = lanes == 16 ? loadu(x + i) : load_part(x + i, lanes, x[0]);
    best = max(best, a);
    bad = taint(a, bad);
  });
  if (sum(bad) != 0.0f) return -1;  // NaN is not equal to 0
  const float most = largest(best);
  for (uint32_t i = 0;; ++i) {
    if (x[i] == most) return static_cast<int32_t>(i);
  }
}

}  // namespace

extern const RowParts BRASS_JOIN(rows_, BRASS_TIER);
constinit const RowParts BRASS_JOIN(rows_, BRASS_TIER) = {
    .quantize = quantize,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .add = add,
    .mul = mul,
    .scale = scale,
    .act = act,
    .act_mul = act_mul,
    .rope = rope,
    .softcap = softcap,
    .argmax = argmax,
};

}  // namespace brass::cpu
