// The operations that work on one row at a time.
#include "backend/ref/operations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "graph/choice.h"

namespace brass::ref {

double activate(ActKind kind, double x) {
  switch (kind) {
    case ActKind::kSilu:
      return x / (1 + std::exp(-x));
    case ActKind::kGeluTanh:  // Hendrycks, Gimpel 2016, the approximation
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case ActKind::kGeluErf:
      return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case ActKind::kRelu:
      return std::isnan(x) ? x : std::max(x, 0.0);
    case ActKind::kReluSquared:
      return std::isnan(x) ? x : std::max(x, 0.0) * std::max(x, 0.0);
    case ActKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case ActKind::kIdentity:
      return x;
    case ActKind::kClampedSwiglu: {
      const double g = std::isnan(x) ? x : std::min(x, 7.0);
      return g / (1 + std::exp(-1.702 * g));
    }
  }
  ENSURE(false, "activation {}", static_cast<int>(kind));
}

namespace {

// Every row of the output on its own.
template <class Body>
void each_row(const Run& run, uint32_t n, const Body& body) {
  run.workers.run(n, [&](uint32_t row, uint32_t) { body(row); });
}

void embed(const Run& run, const Op& op) {
  const RowsView y = run.out(op);
  const LoadedWeight& table = run.weight(op, 0);
  each_row(run, y.n, [&](uint32_t t) {
    if (run.batch.sequences[t] < 0) {
      std::fill_n(y.row(t), y.width, 0.0f);
      return;
    }
    const EmbedIndex index = op.as<EmbedAttrs>().index;
    const int32_t row = index == EmbedIndex::kToken      ? run.batch.ids[t]
                        : index == EmbedIndex::kPosition ? run.batch.positions[t]
                                                         : 0;
    ENSURE(row >= 0 && static_cast<uint32_t>(row) < table.rows, "{} {} of {}",
           index == EmbedIndex::kPosition ? "position" : "token", row, table.rows);
    table.decode_row(static_cast<uint32_t>(row), y.row(t));
  });
}

void hidden_in(const Run& run, const Op& op) {
  const RowsView y = run.out(op);
  each_row(run, y.n, [&](uint32_t t) {
    std::copy_n(run.batch.hidden.data() + size_t{t} * y.width, y.width, y.row(t));
  });
}

void gather_rows(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0), y = run.out(op);
  each_row(run, y.n, [&](uint32_t r) {
    std::copy_n(x.row(static_cast<uint32_t>(run.batch.rows[r])), y.width, y.row(r));
  });
}

// Each wanted row of the output from all the rows that its sequence has in the step.
void pool(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0), y = run.out(op);
  const std::span<const int32_t> owner = run.batch.sequences;
  run.workers.run(y.n, [&](uint32_t r, uint32_t worker) {
    auto begin = static_cast<uint32_t>(run.batch.rows[r]), end = begin + 1;
    while (begin > 0 && owner[begin - 1] == owner[begin]) begin--;
    if (op.as<PoolAttrs>().kind == PoolKind::kFirst) {
      std::copy_n(x.row(begin), y.width, y.row(r));
      return;
    }
    while (end < x.n && owner[end] == owner[begin]) end++;
    std::vector<double>& sum = run.scratch.doubles[worker];
    sum.assign(y.width, 0.0);
    for (uint32_t t = begin; t < end; t++)
      for (uint32_t i = 0; i < y.width; i++) sum[i] += static_cast<double>(x.row(t)[i]);
    for (uint32_t i = 0; i < y.width; i++) y.row(r)[i] = static_cast<float>(sum[i] / (end - begin));
  });
}

// (x − mean) · rsqrt(mean of squares + eps) over n values, the mean 0 for an RMS norm.
void norm(const float* x, uint32_t n, float eps, bool centred, double* y) {
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < n; i++) sum += static_cast<double>(x[i]);
  const double mean = centred ? sum / n : 0;
  for (uint32_t i = 0; i < n; i++) {
    y[i] = static_cast<double>(x[i]) - mean;
    squares += y[i] * y[i];
  }
  const double factor = 1 / std::sqrt(squares / n + static_cast<double>(eps));
  for (uint32_t i = 0; i < n; i++) y[i] *= factor;
}

// The part of a gain or bias that head h has.
const float* head_part(const Run& run, const Op& op, size_t weight, uint32_t h, uint32_t dim) {
  if (op.weights.size() <= weight) return nullptr;
  const std::vector<float>& v = run.weight(op, weight).vector;
  return v.data() + (v.size() > dim ? h * dim : 0);
}

void any_norm(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0), y = run.out(op);
  const auto& a = op.as<NormAttrs>();
  const uint32_t heads = op.kind == OpKind::kRmsNorm ? 1 : a.heads, dim = x.width / heads;
  run.workers.run(y.n, [&](uint32_t t, uint32_t worker) {
    std::vector<double>& scaled = run.scratch.doubles[worker];
    scaled.resize(dim);
    for (uint32_t h = 0; h < heads; h++) {
      norm(x.row(t) + h * dim, dim, a.eps, op.kind == OpKind::kLayerNorm, scaled.data());
      const float *gain = head_part(run, op, 0, h, dim), *bias = head_part(run, op, 1, h, dim);
      for (uint32_t i = 0; i < dim; i++) {
        double value = scaled[i];
        if (gain != nullptr) value *= static_cast<double>(gain[i]);
        if (bias != nullptr) value += static_cast<double>(bias[i]);
        y.row(t)[h * dim + i] = static_cast<float>(value);
      }
    }
  });
}

void rope_table(const Run& run, const Op& op) {
  const RowsView y = run.out(op);
  const auto& a = op.as<RopeTableAttrs>();
  const auto magnitude = static_cast<double>(a.magnitude);
  each_row(run, y.n, [&](uint32_t t) {
    for (size_t i = 0; i < a.inv_freq.size(); i++) {
      const float angle = static_cast<float>(run.batch.positions[t]) * a.inv_freq[i];
      y.row(t)[2 * i] = static_cast<float>(std::cos(static_cast<double>(angle)) * magnitude);
      y.row(t)[2 * i + 1] = static_cast<float>(std::sin(static_cast<double>(angle)) * magnitude);
    }
  });
}

void rope(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0), table = run.in(op, 1), y = run.out(op);
  const auto& a = op.as<RopeAttrs>();
  const uint32_t pairs = a.n_rot / 2;
  each_row(run, y.n, [&](uint32_t t) {
    std::copy_n(x.row(t), x.width, y.row(t));
    for (uint32_t h = 0; h < a.heads; h++) {
      const float* from = x.row(t) + h * a.head_dim;
      float* to = y.row(t) + h * a.head_dim;
      for (uint32_t i = 0; i < pairs; i++) {
        const uint32_t first = a.neox ? i : 2 * i, second = a.neox ? i + pairs : 2 * i + 1;
        const double c = table.row(t)[2 * i], s = table.row(t)[2 * i + 1];
        const double u = from[first], v = from[second];
        to[first] = static_cast<float>(u * c - v * s);
        to[second] = static_cast<float>(u * s + v * c);
      }
    }
  });
}

// y[i] = f(x[i]).
template <class F>
void map(const Run& run, const Op& op, const F& f) {
  const RowsView x = run.in(op, 0), y = run.out(op);
  each_row(run, y.n, [&](uint32_t t) { std::transform(x.row(t), x.row(t) + x.width, y.row(t), f); });
}

// y[i] = f(a[i], b[i]).
template <class F>
void combine(const Run& run, const Op& op, const F& f) {
  const RowsView a = run.in(op, 0), b = run.in(op, 1), y = run.out(op);
  each_row(run, y.n,
           [&](uint32_t t) { std::transform(a.row(t), a.row(t) + a.width, b.row(t), y.row(t), f); });
}

void act_mul(const Run& run, const Op& op) {
  combine(run, op, [kind = op.as<ActAttrs>().kind](float gate, float up) {
    double factor = static_cast<double>(up);
    if (kind == ActKind::kClampedSwiglu)
      factor = (std::isnan(up) ? factor : std::clamp(factor, -7.0, 7.0)) + 1;
    return static_cast<float>(activate(kind, static_cast<double>(gate)) * factor);
  });
}

void concat(const Run& run, const Op& op) {
  const RowsView a = run.in(op, 0), b = run.in(op, 1), y = run.out(op);
  const uint32_t heads = op.as<ConcatAttrs>().heads, p = a.width / heads, q = b.width / heads;
  each_row(run, y.n, [&](uint32_t t) {
    for (uint32_t h = 0; h < heads; h++) {
      std::copy_n(a.row(t) + h * p, p, y.row(t) + h * (p + q));
      std::copy_n(b.row(t) + h * q, q, y.row(t) + h * (p + q) + p);
    }
  });
}

void slice(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0), y = run.out(op);
  each_row(run, y.n,
           [&](uint32_t t) { std::copy_n(x.row(t) + op.as<SliceAttrs>().begin, y.width, y.row(t)); });
}

void softcap(const Run& run, const Op& op) {
  map(run, op, [cap = static_cast<double>(op.as<ScaleAttrs>().factor)](float x) {
    return static_cast<float>(cap * std::tanh(static_cast<double>(x) / cap));
  });
}

void choose(const Run& run, const Op& op) {
  const RowsView x = run.in(op, 0), y = run.out(op);
  const uint32_t count = op.as<ChooseAttrs>().candidates;
  for (uint32_t r = 0; r < x.n; r++) {
    const std::span<const float> logits(x.row(r), x.width);
    if (count == 0) {
      y.row(r)[0] = static_cast<float>(choice_of(logits));
      continue;
    }
    float* made = y.row(r);
    for (const uint32_t number : candidates_of(logits, count)) {
      made[0] = static_cast<float>(number);
      made[count] = logits[number];
      made++;
    }
  }
}

}  // namespace

void run_op(const Run& run, const Op& op) {
  switch (op.kind) {
    case OpKind::kEmbed:
      embed(run, op);
      break;
    case OpKind::kHiddenIn:
      hidden_in(run, op);
      break;
    case OpKind::kGatherRows:
      gather_rows(run, op);
      break;
    case OpKind::kPool:
      pool(run, op);
      break;
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
    case OpKind::kHeadNorm:
      any_norm(run, op);
      break;
    case OpKind::kLinear:
    case OpKind::kLmHead:
      run_product(run, op);
      break;
    case OpKind::kHeadLinear:
      run_head_product(run, op);
      break;
    case OpKind::kConcat:
      concat(run, op);
      break;
    case OpKind::kSlice:
      slice(run, op);
      break;
    case OpKind::kMoeRoute:
    case OpKind::kMoeLinear:
    case OpKind::kMoeCombine:
      run_experts(run, op);
      break;
    case OpKind::kConv1d:
    case OpKind::kDeltaNet:
    case OpKind::kSsmScan:
      run_recurrent(run, op);
      break;
    case OpKind::kAct:
      map(run, op, [kind = op.as<ActAttrs>().kind](float x) {
        return static_cast<float>(activate(kind, static_cast<double>(x)));
      });
      break;
    case OpKind::kActMul:
      act_mul(run, op);
      break;
    case OpKind::kRopeTable:
      rope_table(run, op);
      break;
    case OpKind::kRope:
      rope(run, op);
      break;
    case OpKind::kKvWrite:
      run_kv_write(run, op);
      break;
    case OpKind::kAttention:
      run_attention(run, op);
      break;
    case OpKind::kAdd:
      combine(run, op, [](float a, float b) { return a + b; });
      break;
    case OpKind::kScale:
      map(run, op, [f = op.as<ScaleAttrs>().factor](float x) { return x * f; });
      break;
    case OpKind::kSoftcap:
      softcap(run, op);
      break;
    case OpKind::kQuantAct:
      run_quant_act(run, op);
      break;
    case OpKind::kChoose:
      choose(run, op);
      break;
  }
  for (const ValueId v : op.out) run.plan.copy_private(v, run.batch);
}

}  // namespace brass::ref
