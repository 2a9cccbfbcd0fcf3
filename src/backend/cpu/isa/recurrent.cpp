// Recurrent layers of one tier: token by token, one numerical form for any number of tokens.
//
// A block of state columns (layout: kernel_types.h) stays in the first-level cache over all tokens of the call;
// columns never meet, so that any cut of the work gives the same bits.
#include "backend/cpu/isa/lanes.h"
#include "backend/cpu/isa/math.h"
#include "backend/cpu/parts.h"

namespace brass::cpu {
namespace {

// log(1 + e^x) = max(x, 0) + log1p(z), z = e^−|x|; log1p(z) = 2 atanh(z / (2 + z)), whose argument is at most
// 1/3: nine terms of its series, which keep the relative precision of small results.
BRASS_INLINE F softplus(F x) {
  const F z = exp(negate(abs(x)));
  const F s = z / (set(2.0f) + z), s2 = s * s;
  F p = set(1.0f / 17);
  p = fma(p, s2, set(1.0f / 15));
  p = fma(p, s2, set(1.0f / 13));
  p = fma(p, s2, set(1.0f / 11));
  p = fma(p, s2, set(1.0f / 9));
  p = fma(p, s2, set(1.0f / 7));
  p = fma(p, s2, set(1.0f / 5));
  p = fma(p, s2, set(1.0f / 3));
  p = fma(p * s2, s, s);
  return max(zero(), x) + (p + p);  // NaN is the second operand: it passes
}

BRASS_INLINE float* state_of(const StateAccess& s, int32_t page) {
  return s.pages + static_cast<size_t>(page) * s.page_stride;
}

// ---- convolution

// Channels at once. Over many rows: long enough to be fetched ahead, a row of them for each tap in L1; over few, the state
// is most of what is moved, and short pieces of it do better.
constexpr uint32_t kConvBlock = 512, kShortConvBlock = 64, kManyRows = 16;

// Channels [begin, begin + n) of all rows. `before`: [taps − 1][kConvBlock], the rows before the first.
BRASS_INLINE void conv_block(const ConvItem& a, uint32_t begin, uint32_t n, float* before) {
  const uint32_t kept = a.taps - 1;
  for (uint32_t j = 0; j < kept; ++j) {
    if (a.state.in < 0) {
      __builtin_memset(before + j * kConvBlock, 0, n * sizeof(float));
    } else {
      __builtin_memcpy(before + j * kConvBlock, state_of(a.state, a.state.in) + j * a.channels + begin,
                       n * sizeof(float));
    }
  }
  // Row t − kept + j of the text, from this block's first channel on.
  const auto row = [&](uint32_t t, uint32_t j) BRASS_LAMBDA {
    return t + j < kept ? before + (t + j) * kConvBlock : a.u + (t + j - kept) * a.u_stride + begin;
  };
  const auto keep = [&](uint32_t t, int32_t page) BRASS_LAMBDA {
    for (uint32_t j = 0; j < kept; ++j) {
      __builtin_memcpy(state_of(a.state, page) + j * a.channels + begin, row(t, j + 1), n * sizeof(float));
    }
  };
  for (uint32_t t = 0; t < a.rows; ++t) {
    float* y = a.y + t * a.y_stride + begin;
    const bool inside = t >= kept;  // all taps are rows of this call
    const float* first = inside ? row(t, 0) : nullptr;
    for_lanes(n, [&](uint32_t i, uint32_t lanes) BRASS_LAMBDA {
      const float* w = a.weight + begin + i;
      F sum = zero();
      for (uint32_t j = 0; j < a.taps; ++j) {
        const float* x = inside ? first + j * a.u_stride : row(t, j);
        sum = fma(get(w + j * a.channels, lanes), get(x + i, lanes), sum);
      }
      if (a.bias != nullptr) sum = sum + get(a.bias + begin + i, lanes);
      put(y + i, a.silu ? sum * sigmoid(sum) : sum, lanes);
    });
    if (a.state.snapshots != nullptr && a.state.snapshots[t] >= 0) keep(t, a.state.snapshots[t]);
  }
  keep(a.rows - 1, a.state.out);
}

void conv1d(const ConvItem& a, float* scratch) {
  const uint32_t block = a.rows < kManyRows ? kShortConvBlock : kConvBlock;
  for (uint32_t c = a.begin; c < a.end; c += block) {
    conv_block(a, c, c + block < a.end ? block : a.end - c, scratch);
  }
}

// ---- a state of rows × columns

// Where the columns' sums over the rows would wait for each other, they are split into as many.
constexpr uint32_t kSums = kRegs == 1 ? 4 : kRegs == 2 ? 2 : 1;

// One block of columns: `lanes` in its last vector.
struct Block {
  const float* in;
  float* out;
  size_t offset;  // of the block in a head's state
  uint32_t rows, width, lanes;
};

BRASS_INLINE Block block_of(const StateAccess& s, uint32_t rows, uint32_t cols, uint32_t block) {
  const uint32_t begin = block * kStateColumns;
  const uint32_t width = begin + kStateColumns < cols ? kStateColumns : cols - begin;
  Block b{nullptr, nullptr, size_t{begin} * rows, rows, width, (width - 1) % 16 + 1};
  b.out = state_of(s, s.out) + b.offset;
  if (s.in >= 0) {
    b.in = state_of(s, s.in) + b.offset;
  } else {
    __builtin_memset(b.out, 0, size_t{rows} * width * sizeof(float));
    b.in = b.out;
  }
  return b;
}

BRASS_INLINE void keep_snapshot(const StateAccess& s, const Block& b, uint32_t t) {
  if (s.snapshots == nullptr || s.snapshots[t] < 0) return;
  float* to = state_of(s, s.snapshots[t]) + b.offset;
  if (to != b.out) __builtin_memcpy(to, b.out, size_t{b.rows} * b.width * sizeof(float));
}

// Vectors of a row of the block: whole ones, but perhaps the last.
template <int V, bool kWhole>
struct Row {
  F f[V];
};
template <int V, bool kWhole>
BRASS_INLINE Row<V, kWhole> load_row(const float* p, uint32_t lanes) {
  Row<V, kWhole> r;
  BRASS_UNROLL
  for (int v = 0; v < V; ++v) r.f[v] = kWhole || v + 1 < V ? loadu(p + 16 * v) : get(p + 16 * v, lanes);
  return r;
}
template <int V, bool kWhole>
BRASS_INLINE void store_row(float* p, Row<V, kWhole> r, uint32_t lanes) {
  BRASS_UNROLL
  for (int v = 0; v < V; ++v) {
    if (kWhole || v + 1 < V) {
      storeu(p + 16 * v, r.f[v]);
    } else {
      put(p + 16 * v, r.f[v], lanes);
    }
  }
}

// A row of the block behind this one (which may be another head's, or not be there): it comes from memory while this one
// is computed with.
template <int V>
BRASS_INLINE void prefetch_row(const float* p) {
  BRASS_UNROLL
  for (int v = 0; v < V; ++v) __builtin_prefetch(p + 16 * v);
}

// step(row, sums of that row's turn), row by row; returns the total of the sums.
template <int V, bool kWhole, class Fn>
BRASS_INLINE Row<V, kWhole> over_rows(uint32_t rows, Fn step) {
  Row<V, kWhole> sums[kSums];
  BRASS_UNROLL
  for (uint32_t p = 0; p < kSums; ++p) {
    BRASS_UNROLL
    for (int v = 0; v < V; ++v) sums[p].f[v] = zero();
  }
  uint32_t i = 0;
  for (; i + kSums <= rows; i += kSums) {
    BRASS_UNROLL
    for (uint32_t p = 0; p < kSums; ++p) step(i + p, sums[p]);
  }
  for (; i < rows; ++i) step(i, sums[0]);
  for (uint32_t n = kSums / 2; n > 0; n /= 2) {
    for (uint32_t p = 0; p < n; ++p) {
      BRASS_UNROLL
      for (int v = 0; v < V; ++v) sums[p].f[v] = sums[p].f[v] + sums[p + n].f[v];
    }
  }
  return sums[0];
}

// run(V, whole) as constants for the block.
template <class Fn>
BRASS_INLINE void with_width(const Block& b, Fn run) {
  static_assert(kStateColumns == 32);
  if (b.width == 32) return run.template operator()<2, true>();
  if (b.width == 16) return run.template operator()<1, true>();
  if (b.width > 16) return run.template operator()<2, false>();
  run.template operator()<1, false>();
}

// ---- delta net

// What a token's gates come to, [rows] each. k and q stay as they are: their norms go into these factors.
struct DeltaGates {
  float *decay, *k, *gain, *q;  // e^g, 1/|k|, β, 1/(|q| √k_dim)
};

BRASS_INLINE float inverse_norm(const float* x, uint32_t n) {
  const float squares = total(x, n, [](F a, F s) BRASS_LAMBDA { return fma(a, a, s); });
  return 1.0f / __builtin_sqrtf(squares + 1e-6f);
}

BRASS_INLINE DeltaGates delta_gates(const DeltaItem& a, float* scratch) {
  const size_t stride = (a.rows + 15) / 16 * 16;
  const DeltaGates g{scratch, scratch + stride, scratch + 2 * stride, scratch + 3 * stride};
  const float q_scale = 1.0f / __builtin_sqrtf(static_cast<float>(a.k_dim));
  for (uint32_t t = 0; t < a.rows; ++t) {
    g.decay[t] = a.a[t * a.a_stride] + a.dt_bias;
    g.gain[t] = a.b[t * a.b_stride];
    g.k[t] = inverse_norm(a.k + t * a.stride, a.k_dim);
    g.q[t] = inverse_norm(a.q + t * a.stride, a.k_dim) * q_scale;
  }
  for_lanes(a.rows, [&](uint32_t t, uint32_t lanes) BRASS_LAMBDA {
    put(g.decay + t, exp(set(a.decay) * softplus(get(g.decay + t, lanes))), lanes);
    put(g.gain + t, sigmoid(get(g.gain + t, lanes)), lanes);
  });
  return g;
}

template <int V, bool kWhole>
BRASS_INLINE void delta_block(const DeltaItem& a, const DeltaGates& g, uint32_t column, Block b) {
  using R = Row<V, kWhole>;
  for (uint32_t t = 0; t < a.rows; ++t) {
    const float *q = a.q + t * a.stride, *k = a.k + t * a.stride;
    const float* in = b.in;
    const R kept = over_rows<V, kWhole>(b.rows, [&](uint32_t i, R& sum) BRASS_LAMBDA {
      const R s = load_row<V, kWhole>(in + i * b.width, b.lanes);
      const F x = set(k[i]);
      BRASS_UNROLL
      for (int v = 0; v < V; ++v) sum.f[v] = fma(s.f[v], x, sum.f[v]);
    });
    const F decay = set(g.decay[t]), k_scale = set(g.k[t]), gain = set(g.gain[t] * g.k[t]);
    R delta = load_row<V, kWhole>(a.v + t * a.stride + column, b.lanes);
    BRASS_UNROLL
    for (int v = 0; v < V; ++v) delta.f[v] = (delta.f[v] - kept.f[v] * (decay * k_scale)) * gain;
    R o = over_rows<V, kWhole>(b.rows, [&](uint32_t i, R& sum) BRASS_LAMBDA {
      R s = load_row<V, kWhole>(in + i * b.width, b.lanes);
      const F x = set(k[i]), y = set(q[i]);
      BRASS_UNROLL
      for (int v = 0; v < V; ++v) {
        s.f[v] = fma(delta.f[v], x, s.f[v] * decay);
        sum.f[v] = fma(s.f[v], y, sum.f[v]);
      }
      store_row<V, kWhole>(b.out + i * b.width, s, b.lanes);
      if (t == 0) prefetch_row<V>(in + (b.rows + i) * b.width);
    });
    BRASS_UNROLL
    for (int v = 0; v < V; ++v) o.f[v] = o.f[v] * set(g.q[t]);
    store_row<V, kWhole>(a.y + t * a.y_stride + column, o, b.lanes);
    b.in = b.out;
    keep_snapshot(a.state, b, t);
  }
}

void delta_net(const DeltaItem& a, float* scratch) {
  const DeltaGates g = delta_gates(a, scratch);
  for (uint32_t i = a.block_begin; i < a.block_end; ++i) {
    const Block b = block_of(a.state, a.k_dim, a.v_dim, i);
    with_width(
        b, [&]<int V, bool kWhole>() BRASS_LAMBDA { delta_block<V, kWhole>(a, g, i * kStateColumns, b); });
  }
}

// ---- state space

template <int V, bool kWhole>
BRASS_INLINE void ssm_block(const SsmItem& a, const float* step, const float* kept, uint32_t column,
                            Block b) {
  using R = Row<V, kWhole>;
  for (uint32_t t = 0; t < a.rows; ++t) {
    const float *in = a.in + t * a.stride, *out = a.out + t * a.stride;
    const F decay = set(kept[t]), dt = set(step[t]), skip = set(a.skip);
    const R x = load_row<V, kWhole>(a.x + t * a.stride + column, b.lanes);
    R input;
    BRASS_UNROLL
    for (int v = 0; v < V; ++v) input.f[v] = x.f[v] * dt;
    R y = over_rows<V, kWhole>(b.rows, [&](uint32_t i, R& sum) BRASS_LAMBDA {
      R s = load_row<V, kWhole>(b.in + i * b.width, b.lanes);
      const F from = set(in[i]), to = set(out[i]);
      BRASS_UNROLL
      for (int v = 0; v < V; ++v) {
        s.f[v] = fma(input.f[v], from, s.f[v] * decay);
        sum.f[v] = fma(s.f[v], to, sum.f[v]);
      }
      store_row<V, kWhole>(b.out + i * b.width, s, b.lanes);
    });
    BRASS_UNROLL
    for (int v = 0; v < V; ++v) y.f[v] = fma(x.f[v], skip, y.f[v]);
    store_row<V, kWhole>(a.y + t * a.y_stride + column, y, b.lanes);
    b.in = b.out;
    keep_snapshot(a.state, b, t);
  }
}

void ssm_scan(const SsmItem& a, float* scratch) {
  const size_t stride = (a.rows + 15) / 16 * 16;
  float *step = scratch, *kept = scratch + stride;
  for (uint32_t t = 0; t < a.rows; ++t) step[t] = a.dt[t * a.dt_stride] + a.dt_bias;
  for_lanes(a.rows, [&](uint32_t t, uint32_t lanes) BRASS_LAMBDA {
    const F dt = softplus(get(step + t, lanes));
    put(step + t, dt, lanes);
    put(kept + t, exp(set(a.decay) * dt), lanes);
  });
  for (uint32_t i = a.block_begin; i < a.block_end; ++i) {
    const Block b = block_of(a.state, a.state_dim, a.dim, i);
    with_width(b, [&]<int V, bool kWhole>()
                      BRASS_LAMBDA { ssm_block<V, kWhole>(a, step, kept, i * kStateColumns, b); });
  }
}

size_t recurrent_scratch(uint32_t rows, uint32_t taps) {
  const size_t gates = size_t{4} * ((rows + 15) / 16 * 16), before = size_t{taps} * kConvBlock;
  return (gates > before ? gates : before) * sizeof(float);
}

}  // namespace

extern const RecurrentParts BRASS_JOIN(recurrent_, BRASS_TIER);
constinit const RecurrentParts BRASS_JOIN(recurrent_, BRASS_TIER) = {
    .recurrent_scratch = recurrent_scratch,
    .conv1d = conv1d,
    .delta_net = delta_net,
    .ssm_scan = ssm_scan,
};

}  // namespace brass::cpu
