// Operations with a state: token by token, the state rounded to f32 after each, so that any cut of a text into
// steps gives the same numbers.
#include <algorithm>
#include <cmath>

#include "backend/ref/operations.h"
#include "base/check.h"

namespace brass::ref {
namespace {

// Rows of one sequence.
struct Part {
  uint32_t begin, end;
  StatePages pages;
};

std::vector<Part> parts_of(const Batch& batch) {
  std::vector<Part> parts;
  for (uint32_t t = 0; t < batch.ids.size(); t++) {
    const int32_t sequence = batch.sequences[t];
    if (sequence < 0) continue;
    if (t > 0 && batch.sequences[t - 1] == sequence) {
      parts.back().end = t + 1;
    } else {
      ENSURE(static_cast<size_t>(sequence) < batch.states.size(), "no state of sequence {}", sequence);
      parts.push_back({t, t + 1, batch.states[static_cast<size_t>(sequence)]});
    }
  }
  return parts;
}

PageId snapshot_of(const Batch& batch, uint32_t t) {
  return batch.snapshots.empty() ? -1 : batch.snapshots[t];
}

// The state before a part, zeros where its text begins.
std::vector<float> state_before(const KvPool& pool, uint32_t layer, const Part& part, size_t values) {
  std::vector<float> state(values, 0.0f);
  if (part.pages.in >= 0) std::copy_n(pool.state(part.pages.in, layer), values, state.data());
  return state;
}

// Runs token(t, state) over every sequence and keeps the states.
template <class Token>
void each_token(const Run& run, uint32_t group, uint32_t layer, size_t values, const Token& token) {
  KvPool& pool = run.pools[group];
  const std::vector<Part> parts = parts_of(run.batch);
  std::vector<std::vector<float>> states;  // all read before any is written: pages may be shared
  for (const Part& part : parts) states.push_back(state_before(pool, layer, part, values));
  run.workers.run(static_cast<uint32_t>(parts.size()), [&](uint32_t i, uint32_t) {
    std::vector<float>& state = states[i];
    for (uint32_t t = parts[i].begin; t < parts[i].end; t++) {
      token(t, state);
      if (const PageId page = snapshot_of(run.batch, t); page >= 0)
        std::ranges::copy(state, pool.state(page, layer));
    }
    std::ranges::copy(state, pool.state(parts[i].pages.out, layer));
  });
}

void clear_padding(const Run& run, const Op& op) {
  const RowsView y = run.out(op);
  for (uint32_t t = 0; t < y.n; t++)
    if (run.batch.sequences[t] < 0) std::fill_n(y.row(t), y.width, 0.0f);
}

void conv1d(const Run& run, const Op& op) {
  const auto& a = op.as<ConvAttrs>();
  const RowsView u = run.in(op, 0), y = run.out(op);
  const uint32_t width = u.width, kept = a.taps - 1;
  const std::vector<float>& w = run.weight(op, 0).vector;
  each_token(run, a.group, a.layer, size_t{kept} * width, [&](uint32_t t, std::vector<float>& state) {
    for (uint32_t c = 0; c < width; c++) {
      double sum = 0;
      for (uint32_t j = 0; j < kept; j++)
        sum += static_cast<double>(w[c * a.taps + j]) * static_cast<double>(state[j * width + c]);
      sum += static_cast<double>(w[c * a.taps + kept]) * static_cast<double>(u.row(t)[c]);
      if (a.bias) sum += static_cast<double>(run.weight(op, 1).vector[c]);
      y.row(t)[c] = static_cast<float>(a.silu ? activate(ActKind::kSilu, sum) : sum);
    }
    if (kept == 0) return;
    std::copy(state.begin() + width, state.end(), state.begin());
    std::copy_n(u.row(t), width, state.end() - width);
  });
}

double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

// x · rsqrt(Σ x² + 1e-6)
std::vector<double> unit(const float* x, uint32_t n) {
  double squares = 0;
  for (uint32_t i = 0; i < n; i++) squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  std::vector<double> y(n);
  for (uint32_t i = 0; i < n; i++) y[i] = static_cast<double>(x[i]) / std::sqrt(squares + 1e-6);
  return y;
}

// One token of one v head; S is [k_dim][v_dim].
void delta_step(const DeltaAttrs& a, const std::vector<double>& q, const std::vector<double>& k,
                const float* v, double decay, double beta, float* s, float* o) {
  for (uint32_t j = 0; j < a.v_dim; j++) {
    double kept = 0, out = 0;
    for (uint32_t i = 0; i < a.k_dim; i++) kept += decay * static_cast<double>(s[i * a.v_dim + j]) * k[i];
    const double delta = beta * (static_cast<double>(v[j]) - kept);
    for (uint32_t i = 0; i < a.k_dim; i++) {
      float& cell = s[i * a.v_dim + j];
      cell = static_cast<float>(decay * static_cast<double>(cell) + k[i] * delta);
      out += static_cast<double>(cell) * q[i];
    }
    o[j] = static_cast<float>(out / std::sqrt(static_cast<double>(a.k_dim)));
  }
}

void delta_net(const Run& run, const Op& op) {
  const auto& a = op.as<DeltaAttrs>();
  const RowsView qkv = run.in(op, 0), b = run.in(op, 1), dt = run.in(op, 2), y = run.out(op);
  const std::vector<float>&decay = run.weight(op, 0).vector, &bias = run.weight(op, 1).vector;
  const uint32_t head = a.k_dim * a.v_dim;
  each_token(run, a.group, a.layer, size_t{a.v_heads} * head, [&](uint32_t t, std::vector<float>& state) {
    const float* q = qkv.row(t);
    const float *k = q + a.k_heads * a.k_dim, *v = k + a.k_heads * a.k_dim;
    for (uint32_t h = 0; h < a.v_heads; h++) {
      const uint32_t from = a.tiled ? h % a.k_heads : h / (a.v_heads / a.k_heads);
      const double g = static_cast<double>(decay[h]) *
                       softplus(static_cast<double>(dt.row(t)[h]) + static_cast<double>(bias[h]));
      delta_step(a, unit(q + from * a.k_dim, a.k_dim), unit(k + from * a.k_dim, a.k_dim), v + h * a.v_dim,
                 std::exp(g), activate(ActKind::kSigmoid, static_cast<double>(b.row(t)[h])),
                 state.data() + h * head, y.row(t) + h * a.v_dim);
    }
  });
}

void ssm_scan(const Run& run, const Op& op) {
  const auto& a = op.as<SsmAttrs>();
  const RowsView xbc = run.in(op, 0), dt = run.in(op, 1), y = run.out(op);
  const std::vector<float>&decay = run.weight(op, 0).vector, &skip = run.weight(op, 1).vector,
        &bias = run.weight(op, 2).vector;
  each_token(
      run, a.group, a.layer, size_t{a.heads} * a.dim * a.state, [&](uint32_t t, std::vector<float>& state) {
        const float* x = xbc.row(t);
        for (uint32_t h = 0; h < a.heads; h++) {
          const float* in = x + a.heads * a.dim + h / (a.heads / a.groups) * a.state;
          const float* out = in + a.groups * a.state;
          const double step = softplus(static_cast<double>(dt.row(t)[h]) + static_cast<double>(bias[h]));
          const double kept = std::exp(step * static_cast<double>(decay[h]));
          for (uint32_t p = 0; p < a.dim; p++) {
            const auto value = static_cast<double>(x[h * a.dim + p]);
            float* s = state.data() + (h * a.dim + p) * a.state;
            double sum = static_cast<double>(skip[h]) * value;
            for (uint32_t n = 0; n < a.state; n++) {
              s[n] = static_cast<float>(kept * static_cast<double>(s[n]) +
                                        step * value * static_cast<double>(in[n]));
              sum += static_cast<double>(s[n]) * static_cast<double>(out[n]);
            }
            y.row(t)[h * a.dim + p] = static_cast<float>(sum);
          }
        }
      });
}

}  // namespace

void run_recurrent(const Run& run, const Op& op) {
  clear_padding(run, op);
  if (op.kind == OpKind::kConv1d) return conv1d(run, op);
  if (op.kind == OpKind::kDeltaNet) return delta_net(run, op);
  ssm_scan(run, op);
}

}  // namespace brass::ref
