// Steps that are matrix products: linear, same_input, linear_residual, lm_head; and gated units (glu,
// glu_quant).
#include <algorithm>
#include <cstring>

#include "backend/cpu/device_state.h"

namespace brass::cpu {
namespace {

bool is_product(const Op& op) { return op.kind == OpKind::kLinear || op.kind == OpKind::kLmHead; }

struct Product {
  const PackedWeight* weight;
  const float* bias;  // or null
  ValueId in;
  ValueId out;  // where the result goes
  ValueId residual = -1;
  uint32_t panels() const { return (weight->rows + kPanelRows - 1) / kPanelRows; }
};

Product product_of(const State& state, const Op& op) {
  return {
      .weight = &state.matrices[static_cast<size_t>(op.weights[0])],
      .bias = op.as<LinearAttrs>().bias ? state.vectors[static_cast<size_t>(op.weights[1])].data() : nullptr,
      .in = op.in[0],
      .out = op.out[0]};
}

// y[t][n] += extra, for the rows [begin, end) of the weight.
void finish_product(const Kernels& k, const Product& p, const Run& run, uint32_t thread, uint32_t begin,
                    uint32_t end, float* y, size_t stride) {
  for (uint32_t t = 0; t < run.rows(p.in); t++) {
    float* row = y + t * stride + begin;
    if (p.bias != nullptr) k.add(row, p.bias + begin, end - begin, row);
    if (p.residual >= 0) k.add(run.row(p.residual, thread, t) + begin, row, end - begin, row);
  }
}

class LinearRunner : public StepRunner {
 public:
  LinearRunner(const State& state, const Plan& plan, const Step& step) {
    for (const uint32_t o : step.ops) {
      const Op& op = plan.ops[o];
      if (is_product(op)) {
        products_.push_back(product_of(state, op));
        panels_ += products_.back().panels();
      } else {
        ENSURE(op.kind == OpKind::kAdd, "{} behind a product", op_name(op.kind));
        Product& p = products_.back();
        p.residual = op.in[0] == p.out ? op.in[1] : op.in[0];
        p.out = op.out[0];
      }
    }
    scratch_ = state.kernels->matmul_scratch(std::max(plan.key.t, plan.key.r));
  }

  size_t scratch_bytes() const override { return scratch_; }

  void run(const Run& run, uint32_t thread) const override {
    const Kernels& k = *run.state.kernels;
    const Part mine = part_of(panels_, thread, run.state.threads());
    uint32_t first = 0;  // panel number of this product's first panel in the whole step
    for (const Product& p : products_) {
      const uint32_t begin = std::max(mine.begin, first), end = std::min(mine.end, first + p.panels());
      if (begin < end) {
        const uint32_t row_begin = (begin - first) * kPanelRows;
        const uint32_t row_end = std::min((end - first) * kPanelRows, p.weight->rows);
        const uint32_t rows = run.rows(p.in);
        float* y = run.row(p.out, thread, 0);
        const size_t stride = run.plan.place(p.out).stride;
        k.matmul(*p.weight, activations(run, p.in, thread), rows, row_begin, row_end, y, stride,
                 run.scratch[thread]);
        if (p.bias != nullptr || p.residual >= 0)
          finish_product(k, p, run, thread, row_begin, row_end, y, stride);
      }
      first += p.panels();
    }
  }

 private:
  std::vector<Product> products_;
  uint32_t panels_ = 0;
  size_t scratch_;
};

// Pieces of columns of gate and up, so that both stay in cache until they are joined.
class GluRunner : public StepRunner {
 public:
  GluRunner(const State& state, const Plan& plan, const Step& step) {
    gate_ = product_of(state, plan.ops[step.ops[0]]);
    up_ = product_of(state, plan.ops[step.ops[1]]);
    const Op& act = plan.ops[step.ops[2]];
    if (act.in[0] != gate_.out) std::swap(gate_, up_);
    act_ = act.as<ActAttrs>().kind;
    out_ = act.out[0];
    if (step.ops.size() > 3) quantized_ = plan.ops[step.ops[3]].out[0];
    max_rows_ = plan.value(gate_.in).rows == Rows::kT ? plan.key.t : plan.key.r;
    matmul_scratch_ = round_up(state.kernels->matmul_scratch(max_rows_), kAlign);
    // 64 columns a piece when there are many rows; a whole share at once when there is one.
    const uint32_t columns = gate_.weight->rows;
    piece_ =
        std::clamp<uint32_t>(static_cast<uint32_t>(round_up(kPieceValues / std::max(max_rows_, 1u), kUnit)),
                             kUnit, static_cast<uint32_t>(round_up(columns, kUnit)));
  }

  size_t scratch_bytes() const override {
    return matmul_scratch_ + 2 * size_t{max_rows_} * piece_ * sizeof(float);
  }

  void run(const Run& run, uint32_t thread) const override {
    const uint32_t columns = gate_.weight->rows;
    // Whole units of 64 columns: then quantized groups, and their padding, never cross two threads.
    const Part mine = part_of((columns + kUnit - 1) / kUnit, thread, run.state.threads());
    for (uint32_t c = mine.begin * kUnit; c < std::min(mine.end * kUnit, columns); c += piece_)
      run_piece(run, thread, c, std::min({c + piece_, mine.end * kUnit, columns}));
  }

 private:
  static constexpr uint32_t kUnit = 64;
  static constexpr uint32_t kPieceValues = 32768;

  void run_piece(const Run& run, uint32_t thread, uint32_t begin, uint32_t end) const {
    const Kernels& k = *run.state.kernels;
    const uint32_t rows = run.rows(gate_.in);
    float* gate = reinterpret_cast<float*>(run.scratch[thread] + matmul_scratch_);
    float* up = gate + size_t{rows} * piece_;
    for (const auto& [product, y] : {std::pair{&gate_, gate}, std::pair{&up_, up}}) {
      float* base = y - begin;  // kernels index columns from the weight's first row
      k.matmul(*product->weight, activations(run, product->in, thread), rows, begin, end, base, piece_,
               run.scratch[thread]);
      if (product->bias != nullptr) finish_product(k, *product, run, thread, begin, end, base, piece_);
    }
    for (uint32_t t = 0; t < rows; t++) {
      float* g = gate + size_t{t} * piece_;
      const float* u = up + size_t{t} * piece_;
      if (quantized_ < 0) {
        k.act_mul(act_, g, u, end - begin, run.row(out_, thread, t) + begin);
        continue;
      }
      k.act_mul(act_, g, u, end - begin, g);
      quantized_rows(run, quantized_, thread).from(t, begin).quantize(k, g, end - begin);
    }
  }

  Product gate_, up_;
  ActKind act_;
  ValueId out_, quantized_ = -1;
  uint32_t max_rows_, piece_;
  size_t matmul_scratch_;
};

}  // namespace

std::unique_ptr<StepRunner> make_linear_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<LinearRunner>(state, plan, step);
}
std::unique_ptr<StepRunner> make_glu_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<GluRunner>(state, plan, step);
}

}  // namespace brass::cpu
