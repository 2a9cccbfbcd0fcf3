// head_linear: every head of the input times a matrix of its own.
#include <algorithm>

#include "backend/cpu/device_state.h"

namespace brass::cpu {
namespace {

class HeadLinearRunner : public StepRunner {
 public:
  HeadLinearRunner(const State& state, const Plan& plan, const Step& step)
      : op_(&plan.ops[step.ops[0]]), heads_(op_->as<HeadLinearAttrs>().heads) {
    const Value& out = plan.value(op_->out[0]);
    rows_ = out.width / heads_;
    panels_ = (rows_ + kPanelRows - 1) / kPanelRows;
    scratch_ = state.kernels->matmul_scratch(out.rows == Rows::kT ? plan.key.t : plan.key.r);
  }

  size_t scratch_bytes() const override { return scratch_; }

  void run(const Run& run, uint32_t thread) const override {
    const Part mine = part_of(heads_ * panels_, thread, run.state.threads());
    for (uint32_t unit = mine.begin; unit < mine.end;) {
      const uint32_t head = unit / panels_, first = unit % panels_;
      const uint32_t end = std::min(panels_, first + mine.end - unit);
      run_head(run, thread, head, first * kPanelRows, std::min(end * kPanelRows, rows_));
      unit += end - first;
    }
  }

 private:
  void run_head(const Run& run, uint32_t thread, uint32_t head, uint32_t begin, uint32_t end) const {
    PackedWeight w = run.state.matrices[static_cast<size_t>(op_->weights[0])];
    w.data += size_t{head} * panels_ * w.panel_bytes;  // a head's rows begin at a panel
    w.rows = rows_;
    Activations x = activations(run, op_->in[0], thread);
    const size_t from = size_t{head} * w.cols;
    if (x.f32 != nullptr) x.f32 += from;
    if (x.codes != nullptr) {
      x.codes += from;
      x.scale += from / 32;
      x.sum += from / 32;
    }
    if (x.seconds != nullptr) x.seconds += from;
    run.state.kernels->matmul(w, x, run.rows(op_->in[0]), begin, end,
                              run.row(op_->out[0], thread, 0) + size_t{head} * rows_,
                              run.plan.place(op_->out[0]).stride, run.scratch[thread]);
  }

  const Op* op_;
  uint32_t heads_, rows_, panels_;
  size_t scratch_;
};

}  // namespace

std::unique_ptr<StepRunner> make_head_linear_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<HeadLinearRunner>(state, plan, step);
}

}  // namespace brass::cpu
