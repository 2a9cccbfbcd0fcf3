// Steps of a mixture of experts: which ones (moe_route), their products (moe_linear), their sum (moe_combine).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backend/cpu/device_state.h"

namespace brass::cpu {
namespace {

uint32_t max_rows(const Plan& plan, ValueId v) {
  return plan.value(v).rows == Rows::kT ? plan.key.t : plan.key.r;
}

// ---- moe_route

// Higher first. NaN before all: it is selected, and reaches the result through the weight.
bool before(double a, double b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

// Scores and sums in double, so that the selection is that of the exact scores.
class RouteRunner : public StepRunner {
 public:
  RouteRunner(const State& state, const Plan& plan, const Step& step)
      : op_(&plan.ops[step.ops[0]]), a_(op_->as<RouteAttrs>()), in_private_(step.in_private) {
    const auto vector = [&](size_t i) { return state.vectors[static_cast<size_t>(op_->weights[i])].data(); };
    if (a_.selection_bias) selection_bias_ = vector(0);
    if (a_.expert_scale) expert_scale_ = vector(a_.selection_bias ? 1 : 0);
  }

  size_t scratch_bytes() const override {
    return (2 * a_.experts + 2 * a_.groups + a_.used) * sizeof(double);
  }

  void run(const Run& run, uint32_t thread) const override {
    const uint32_t rows = run.rows(op_->out[0]);
    const Part mine = in_private_ ? Part{0, rows} : part_of(rows, thread, run.state.threads());
    auto* scratch = reinterpret_cast<double*>(run.scratch[thread]);
    for (uint32_t i = mine.begin; i < mine.end; i++)
      route(run.row(op_->in[0], thread, i), scratch, run.row(op_->out[0], thread, i));
  }

 private:
  void route(const float* logits, double* scratch, float* out) const {
    double *score = scratch, *choice = score + a_.experts, *w = choice + a_.experts + 2 * a_.groups;
    find_scores(logits, score);
    for (uint32_t e = 0; e < a_.experts; e++)
      choice[e] = score[e] + (selection_bias_ == nullptr ? 0.0 : static_cast<double>(selection_bias_[e]));
    if (a_.groups_used < a_.groups) drop_groups(choice, choice + a_.experts);
    const auto take_expert = [&](uint32_t slot, uint32_t expert) {
      out[slot] = static_cast<float>(expert);
      w[slot] = score[expert];
    };
    take_best(choice, a_.experts, a_.used, take_expert);
    weigh(w, out);
  }

  void find_scores(const float* logits, double* score) const {
    double largest = static_cast<double>(logits[0]), sum = 0;
    for (uint32_t e = 0; e < a_.experts; e++) {
      score[e] = static_cast<double>(logits[e]);
      largest = std::max(largest, score[e]);
    }
    if (a_.score == RouteScore::kSigmoid) {
      for (uint32_t e = 0; e < a_.experts; e++) score[e] = 1 / (1 + std::exp(-score[e]));
    } else if (a_.score == RouteScore::kSoftmax) {
      for (uint32_t e = 0; e < a_.experts; e++) sum += score[e] = std::exp(score[e] - largest);
      for (uint32_t e = 0; e < a_.experts; e++) score[e] /= sum;
    }
  }

  // take(rank, index) for the first `count` of n values, equal ones in order of index.
  template <class Take>
  static void take_best(const double* values, uint32_t n, uint32_t count, Take take) {
    uint32_t last = n;  // that was taken
    for (uint32_t i = 0; i < count; i++) {
      uint32_t best = n;
      for (uint32_t e = 0; e < n; e++) {
        const bool is_left =
            last == n || before(values[last], values[e]) || (e > last && !before(values[e], values[last]));
        if (is_left && (best == n || before(values[e], values[best]))) best = e;
      }
      take(i, best);
      last = best;
    }
  }

  // The experts of groups that are not among the best lose their choice. `scratch`: 2 · groups.
  void drop_groups(double* choice, double* scratch) const {
    const uint32_t size = a_.experts / a_.groups;
    double *score = scratch, *kept = scratch + a_.groups;
    for (uint32_t g = 0; g < a_.groups; g++) {
      double first = choice[g * size], second = -std::numeric_limits<double>::infinity();
      for (uint32_t e = g * size + 1; e < (g + 1) * size; e++) {
        const double c = choice[e];
        if (before(c, first)) {
          second = first;
          first = c;
        } else if (before(c, second)) {
          second = c;
        }
      }
      score[g] = a_.group_score == GroupScore::kMax || size == 1 ? first : first + second;
      kept[g] = 0;
    }
    take_best(score, a_.groups, a_.groups_used, [&](uint32_t, uint32_t group) { kept[group] = 1; });
    for (uint32_t g = 0; g < a_.groups; g++)
      if (kept[g] == 0) std::fill_n(choice + g * size, size, -std::numeric_limits<double>::infinity());
  }

  // From the scores of the selected to the weights of the slots.
  void weigh(double* w, float* out) const {
    if (a_.score == RouteScore::kSoftmaxOfSelected) {
      const double largest = *std::max_element(w, w + a_.used);
      double sum = 0;
      for (uint32_t i = 0; i < a_.used; i++) sum += w[i] = std::exp(w[i] - largest);
      for (uint32_t i = 0; i < a_.used; i++) w[i] /= sum;
    }
    double sum = 0;
    for (uint32_t i = 0; i < a_.used; i++) sum += w[i];
    for (uint32_t i = 0; i < a_.used; i++) {
      if (a_.renormalize) w[i] /= std::max(sum, static_cast<double>(a_.min_sum));
      w[i] *= static_cast<double>(a_.scale);
      if (expert_scale_ != nullptr) w[i] *= static_cast<double>(expert_scale_[static_cast<uint32_t>(out[i])]);
      out[a_.used + i] = static_cast<float>(w[i]);
    }
  }

  const Op* op_;
  const RouteAttrs& a_;
  bool in_private_;
  const float *selection_bias_ = nullptr, *expert_scale_ = nullptr;
};

// ---- moe_linear

// Every expert that the batch uses multiplies, at once, the rows that chose it: its weights are read once. All
// (expert, panel) pairs are one list, of which each thread does a part of equal cost.
class ExpertsRunner : public StepRunner {
 public:
  ExpertsRunner(const State& state, const Plan& plan, const Step& step)
      : op_(&plan.ops[step.ops[0]]), a_(op_->as<ExpertAttrs>()) {
    const PackedWeight& all = state.matrices[static_cast<size_t>(op_->weights[0])];
    out_ = plan.value(op_->out[0]).width / a_.used;
    panels_ = (out_ + kPanelRows - 1) / kPanelRows;
    ENSURE(all.rows == a_.experts * (out_ % kPanelRows == 0 ? out_ : panels_ * kPanelRows),
           "{} rows of {} experts with {} each", all.rows, a_.experts, out_);
    first_expert_ = {all.type, out_, all.cols, all.panel_bytes, all.data};
    if (a_.bias) bias_ = state.vectors[static_cast<size_t>(op_->weights[1])].data();
    terms_ = plan.value(op_->in[0]).int8_terms;

    const uint32_t pairs = max_rows(plan, op_->in[0]) * a_.used;
    block_ = std::min(pairs, kMostRows);
    layout_ = quantized_layout(all.cols, block_, terms_);
    f32_stride_ = round_up(all.cols, kAlign / sizeof(float));
    size_t end = round_up(state.kernels->matmul_scratch(block_), kAlign);
    const auto place = [&](size_t bytes) {
      const size_t at = end;
      end += round_up(bytes, kAlign);
      return at;
    };
    x_at_ = place(terms_ > 0 ? layout_.bytes : block_ * f32_stride_ * sizeof(float));
    y_at_ = place(std::max(kPieceValues, kUnit * block_) * sizeof(float));
    first_at_ = place((a_.experts + 1) * sizeof(uint32_t));
    order_at_ = place(pairs * sizeof(uint32_t));
    scratch_ = end;
  }

  size_t scratch_bytes() const override { return scratch_; }

  void run(const Run& run, uint32_t thread) const override {
    const Chosen chosen = sort_pairs(run, thread);
    uint64_t total = 0;
    for (uint32_t e = 0; e < a_.experts; e++) total += panels_ * panel_cost(chosen.count(e));
    const uint32_t threads = run.state.threads();
    const uint64_t begin = total * thread / threads, end = total * (thread + 1) / threads;
    uint64_t at = 0;  // cost of the experts before this one
    for (uint32_t e = 0; e < a_.experts && at < end; e++) {
      const uint64_t cost = panel_cost(chosen.count(e));
      if (cost == 0) continue;
      // The panels that begin in this thread's part.
      const auto panel = [&](uint64_t where) {
        return where <= at
                   ? 0u
                   : static_cast<uint32_t>(std::min<uint64_t>((where - at + cost - 1) / cost, panels_));
      };
      run_expert(run, thread, e, chosen, panel(begin), panel(end));
      at += panels_ * cost;
    }
  }

 private:
  static constexpr uint32_t kMostRows = 512;  // that are gathered at once
  static constexpr uint32_t kUnit = 64;       // columns of the narrowest piece
  static constexpr uint32_t kPieceValues = 32768;

  // The (row, slot) pairs by expert: pair = row · used + slot.
  struct Chosen {
    const uint32_t* first;  // [experts + 1]
    const uint32_t* order;
    uint32_t count(uint32_t expert) const { return first[expert + 1] - first[expert]; }
  };

  // In products of one row with one panel: to stream a panel takes as long as about eight of them.
  static uint64_t panel_cost(uint32_t rows) { return rows == 0 ? 0 : 8 + rows; }

  uint32_t expert_of(const Run& run, uint32_t thread, uint32_t row, uint32_t slot) const {
    const auto expert = static_cast<uint32_t>(run.row(op_->in[1], thread, row)[slot]);
    ENSURE(expert < a_.experts, "expert {} of {}", expert, a_.experts);
    return expert;
  }

  Chosen sort_pairs(const Run& run, uint32_t thread) const {
    auto* first = reinterpret_cast<uint32_t*>(run.scratch[thread] + first_at_);
    auto* order = reinterpret_cast<uint32_t*>(run.scratch[thread] + order_at_);
    const uint32_t rows = run.rows(op_->in[0]);
    std::fill_n(first, a_.experts + 1, 0u);
    for (uint32_t t = 0; t < rows; t++)
      for (uint32_t j = 0; j < a_.used; j++) first[expert_of(run, thread, t, j)]++;
    uint32_t end = 0;
    for (uint32_t e = 0; e <= a_.experts; e++) first[e] = end += first[e];
    // Ends become firsts as the pairs are put in, the last one first.
    for (uint32_t pair = rows * a_.used; pair-- > 0;)
      order[--first[expert_of(run, thread, pair / a_.used, pair % a_.used)]] = pair;
    return {first, order};
  }

  void run_expert(const Run& run, uint32_t thread, uint32_t expert, const Chosen& chosen,
                  uint32_t panel_begin, uint32_t panel_end) const {
    if (panel_begin >= panel_end) return;
    PackedWeight w = first_expert_;
    w.data += size_t{expert} * panels_ * w.panel_bytes;
    const uint32_t row_begin = panel_begin * kPanelRows, row_end = std::min(panel_end * kPanelRows, out_);
    for (uint32_t i = chosen.first[expert]; i < chosen.first[expert + 1]; i += block_) {
      const std::span<const uint32_t> pairs(chosen.order + i, std::min(block_, chosen.first[expert + 1] - i));
      const Activations x = gather(run, thread, pairs);
      const uint32_t piece =
          std::max(kPieceValues / static_cast<uint32_t>(pairs.size()) / kUnit * kUnit, kUnit);
      for (uint32_t begin = row_begin; begin < row_end; begin += piece)
        run_piece(run, thread, w, expert, x, pairs, begin, std::min(begin + piece, row_end));
    }
  }

  // The inputs of the pairs, one below the other.
  Activations gather(const Run& run, uint32_t thread, std::span<const uint32_t> pairs) const {
    const uint32_t in = first_expert_.cols;
    std::byte* at = run.scratch[thread] + x_at_;
    Activations x{};
    if (terms_ == 0) {
      auto* f32 = reinterpret_cast<float*>(at);
      for (size_t i = 0; i < pairs.size(); i++)
        std::memcpy(f32 + i * f32_stride_,
                    run.row(op_->in[0], thread, pairs[i] / a_.used) + part(pairs[i]) * in,
                    in * sizeof(float));
      x.f32 = f32;
      x.f32_stride = f32_stride_;
      return x;
    }
    const QuantizedRows from = quantized_rows(run, op_->in[0], thread);
    auto *codes = reinterpret_cast<int8_t*>(at), *seconds = reinterpret_cast<int8_t*>(at + layout_.seconds);
    auto *scale = reinterpret_cast<float*>(at + layout_.scales),
         *sum = reinterpret_cast<float*>(at + layout_.sums);
    for (size_t i = 0; i < pairs.size(); i++) {
      const size_t row = pairs[i] / a_.used, first = size_t{part(pairs[i])} * in;
      const auto copy_codes = [&](int8_t* to, const int8_t* of_rows) {
        std::memcpy(to + i * layout_.code_stride, of_rows + row * from.code_stride + first, in);
        std::memset(to + i * layout_.code_stride + in, 0, round_up(in, 64) - in);
      };
      copy_codes(codes, from.codes);
      if (terms_ > 1) copy_codes(seconds, from.seconds);
      const size_t group = row * from.scale_stride + first / 32, bytes = in / 32 * sizeof(float);
      std::memcpy(scale + i * layout_.scale_stride, from.scale + group, bytes);
      std::memcpy(sum + i * layout_.scale_stride, from.sum + group, bytes);
    }
    x.codes = codes;
    if (terms_ > 1) x.seconds = seconds;
    x.code_stride = layout_.code_stride;
    x.scale = scale;
    x.sum = sum;
    x.scale_stride = layout_.scale_stride;
    return x;
  }
  uint32_t part(uint32_t pair) const { return a_.own_input ? pair % a_.used : 0; }

  // Columns [begin, end) of the expert's results, from scratch to the slots.
  void run_piece(const Run& run, uint32_t thread, const PackedWeight& w, uint32_t expert,
                 const Activations& x, std::span<const uint32_t> pairs, uint32_t begin, uint32_t end) const {
    const Kernels& k = *run.state.kernels;
    const size_t stride = round_up(end - begin, kPanelRows);
    auto* y = reinterpret_cast<float*>(run.scratch[thread] + y_at_);
    k.matmul(w, x, static_cast<uint32_t>(pairs.size()), begin, end, y - begin, stride, run.scratch[thread]);
    for (size_t i = 0; i < pairs.size(); i++) {
      float* to =
          run.row(op_->out[0], thread, pairs[i] / a_.used) + size_t{pairs[i] % a_.used} * out_ + begin;
      if (bias_ == nullptr)
        std::memcpy(to, y + i * stride, (end - begin) * sizeof(float));
      else
        k.add(y + i * stride, bias_ + size_t{expert} * out_ + begin, end - begin, to);
    }
  }

  const Op* op_;
  const ExpertAttrs& a_;
  PackedWeight first_expert_{};
  const float* bias_ = nullptr;
  uint8_t terms_;  // Value::int8_terms of the input
  uint32_t out_, panels_, block_;
  QuantizedLayout layout_;
  size_t f32_stride_, x_at_, y_at_, first_at_, order_at_, scratch_;
};

// ---- moe_combine

class CombineRunner : public StepRunner {
 public:
  CombineRunner(const Plan& plan, const Step& step)
      : op_(&plan.ops[step.ops[0]]),
        used_(op_->as<ExpertAttrs>().used),
        width_(plan.value(op_->out[0]).width),
        in_private_(step.in_private) {}

  size_t scratch_bytes() const override { return width_ * sizeof(float); }

  void run(const Run& run, uint32_t thread) const override {
    const uint32_t rows = run.rows(op_->out[0]);
    const Part mine = in_private_ ? Part{0, rows} : part_of(rows, thread, run.state.threads());
    for (uint32_t i = mine.begin; i < mine.end; i++) combine(run, thread, i);
  }

 private:
  void combine(const Run& run, uint32_t thread, uint32_t i) const {
    const Kernels& k = *run.state.kernels;
    const float *slots = run.row(op_->in[0], thread, i), *w = run.row(op_->in[1], thread, i) + used_;
    float *out = run.row(op_->out[0], thread, i), *part = reinterpret_cast<float*>(run.scratch[thread]);
    k.scale(slots, w[0], width_, out);
    for (uint32_t j = 1; j < used_; j++) {
      k.scale(slots + size_t{j} * width_, w[j], width_, part);
      k.add(out, part, width_, out);
    }
    if (op_->in.size() == 2) return;
    const float* shared = run.row(op_->in[2], thread, i);
    if (op_->in.size() > 3) {
      float gate;
      k.act(ActKind::kSigmoid, run.row(op_->in[3], thread, i), 1, &gate);
      k.scale(shared, gate, width_, part);
      shared = part;
    }
    k.add(out, shared, width_, out);
  }

  const Op* op_;
  uint32_t used_, width_;
  bool in_private_;
};

}  // namespace

std::unique_ptr<StepRunner> make_experts_runner(const State& state, const Plan& plan, const Step& step) {
  switch (plan.ops[step.ops[0]].kind) {
    case OpKind::kMoeRoute:
      return std::make_unique<RouteRunner>(state, plan, step);
    case OpKind::kMoeLinear:
      return std::make_unique<ExpertsRunner>(state, plan, step);
    default:
      return std::make_unique<CombineRunner>(plan, step);
  }
}

}  // namespace brass::cpu
