// Mixtures of experts: which ones, their products, their sum.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/ref/operations.h"
#include "base/check.h"

namespace brass::ref {
namespace {

// Scores of all experts in double.
std::vector<double> scores_of(const RouteAttrs& a, const float* logits) {
  std::vector<double> s(logits, logits + a.experts);
  if (a.score == RouteScore::kSigmoid) {
    for (double& x : s) x = 1 / (1 + std::exp(-x));
  } else if (a.score == RouteScore::kSoftmax) {
    const double largest = *std::ranges::max_element(s);
    double sum = 0;
    for (double& x : s) sum += x = std::exp(x - largest);
    for (double& x : s) x /= sum;
  }
  return s;  // softmax of the selected: still the logits
}

// Higher first; NaN before all, so that it is selected and reaches the result.
bool before(double a, double b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

// Groups that are not among the best drop out.
void drop_groups(const RouteAttrs& a, std::vector<double>& choice) {
  const uint32_t size = a.experts / a.groups;
  std::vector<double> score(a.groups);
  for (uint32_t g = 0; g < a.groups; g++) {
    std::vector<double> members(choice.begin() + g * size, choice.begin() + (g + 1) * size);
    std::ranges::sort(members, before);
    score[g] = a.group_score == GroupScore::kMax || size == 1 ? members[0] : members[0] + members[1];
  }
  std::vector<uint32_t> order(a.groups);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, before, [&](uint32_t g) { return score[g]; });
  for (uint32_t i = a.groups_used; i < a.groups; i++)
    std::fill_n(choice.begin() + order[i] * size, size, -std::numeric_limits<double>::infinity());
}

void route_row(const Run& run, const Op& op, const float* logits, float* route) {
  const auto& a = op.as<RouteAttrs>();
  const std::vector<double> score = scores_of(a, logits);
  std::vector<double> choice = score;
  if (a.selection_bias)
    for (uint32_t e = 0; e < a.experts; e++) choice[e] += static_cast<double>(run.weight(op, 0).vector[e]);
  if (a.groups_used < a.groups) drop_groups(a, choice);
  std::vector<uint32_t> order(a.experts);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, before, [&](uint32_t e) { return choice[e]; });

  std::vector<double> w(a.used);
  for (uint32_t i = 0; i < a.used; i++) w[i] = score[order[i]];
  if (a.score == RouteScore::kSoftmaxOfSelected) {
    const double largest = *std::ranges::max_element(w);
    double sum = 0;
    for (double& x : w) sum += x = std::exp(x - largest);
    for (double& x : w) x /= sum;
  }
  double sum = std::accumulate(w.begin(), w.end(), 0.0);
  for (uint32_t i = 0; i < a.used; i++) {
    if (a.renormalize) w[i] /= std::max(sum, static_cast<double>(a.min_sum));
    w[i] *= static_cast<double>(a.scale);
    if (a.expert_scale)
      w[i] *= static_cast<double>(run.weight(op, a.selection_bias ? 1 : 0).vector[order[i]]);
    route[i] = static_cast<float>(order[i]);
    route[a.used + i] = static_cast<float>(w[i]);
  }
}

// y = rows [e · out, (e + 1) · out) of the matrix times x.
void expert_product(const Run& run, const Op& op, uint32_t expert, const float* x, uint32_t out, float* y,
                    std::vector<float>& row) {
  const LoadedWeight& w = run.weight(op, 0);
  row.resize(w.cols);
  for (uint32_t i = 0; i < out; i++) {
    w.decode_row(expert * out + i, row.data());
    double sum = 0;
    for (uint32_t k = 0; k < w.cols; k++) sum += static_cast<double>(row[k]) * static_cast<double>(x[k]);
    if (op.as<ExpertAttrs>().bias) sum += static_cast<double>(run.weight(op, 1).vector[expert * out + i]);
    y[i] = static_cast<float>(sum);
  }
}

void moe_linear(const Run& run, const Op& op) {
  const auto& a = op.as<ExpertAttrs>();
  const RowsView route = run.in(op, 1), y = run.out(op);
  const std::vector<float> x = plain_rows(run, op.in[0]);
  const uint32_t in = run.weight(op, 0).cols, width = a.own_input ? in * a.used : in, out = y.width / a.used;
  run.workers.run(y.n * a.used, [&](uint32_t item, uint32_t worker) {
    const uint32_t t = item / a.used, slot = item % a.used;
    const auto expert = static_cast<uint32_t>(route.row(t)[slot]);
    ENSURE(expert < a.experts, "expert {} of {}", expert, a.experts);
    expert_product(run, op, expert, x.data() + size_t{t} * width + (a.own_input ? slot * in : 0), out,
                   y.row(t) + slot * out, run.scratch.floats[worker]);
  });
}

void moe_combine(const Run& run, const Op& op) {
  const auto& a = op.as<ExpertAttrs>();
  const RowsView slots = run.in(op, 0), route = run.in(op, 1), y = run.out(op);
  for (uint32_t t = 0; t < y.n; t++) {
    const double gate =
        op.in.size() > 3 ? activate(ActKind::kSigmoid, static_cast<double>(run.in(op, 3).row(t)[0])) : 1;
    for (uint32_t i = 0; i < y.width; i++) {
      double sum = 0;
      for (uint32_t j = 0; j < a.used; j++)
        sum += static_cast<double>(route.row(t)[a.used + j]) *
               static_cast<double>(slots.row(t)[j * y.width + i]);
      if (op.in.size() > 2) sum += gate * static_cast<double>(run.in(op, 2).row(t)[i]);
      y.row(t)[i] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void run_experts(const Run& run, const Op& op) {
  if (op.kind == OpKind::kMoeLinear) return moe_linear(run, op);
  if (op.kind == OpKind::kMoeCombine) return moe_combine(run, op);
  const RowsView logits = run.in(op, 0), route = run.out(op);
  run.workers.run(route.n, [&](uint32_t t, uint32_t) { route_row(run, op, logits.row(t), route.row(t)); });
}

}  // namespace brass::ref
