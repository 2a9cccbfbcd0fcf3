// Steps that work on one row at a time (row_chain and its operations alone), and those that cut rows in
// columns: functions of each value, and sums over the rows of a sequence.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/cpu/device_state.h"

namespace brass::cpu {
namespace {

// One operation of a chain with its operands. Values that stay inside the step live in the thread's scratch.
struct RowOp {
  const Op* op;
  const float *gain = nullptr, *bias = nullptr;  // norms
  uint32_t part_stride = 0;                      // of gain and bias, from head to head
  const PackedWeight* table = nullptr;           // embed
  uint32_t width = 0;
};

class RowsRunner : public StepRunner {
 public:
  RowsRunner(const State& state, const Plan& plan, const Step& step) : in_private_(step.in_private) {
    slot_.assign(plan.values.size(), -1);
    for (const uint32_t o : step.ops) {
      const Op& op = plan.ops[o];
      RowOp row{.op = &op, .width = plan.value(op.out[0]).width};
      if (op.kind == OpKind::kEmbed) row.table = &state.matrices[static_cast<size_t>(op.weights[0])];
      if (op.kind == OpKind::kRmsNorm || op.kind == OpKind::kLayerNorm) add_norm(state, plan, op, row);
      ops_.push_back(row);
      const ValueId out = op.out[0];
      if (plan.place(out).storage != Storage::kInternal) continue;
      slot_[static_cast<size_t>(out)] = static_cast<ptrdiff_t>(scratch_);
      const Value& v = plan.value(out);
      scratch_ += round_up(
          v.quantized() ? quantized_layout(v.width, 1, v.int8_terms).bytes : v.width * sizeof(float), kAlign);
    }
    out_ = plan.ops[step.ops[0]].out[0];
  }

  size_t scratch_bytes() const override { return scratch_; }

  void run(const Run& run, uint32_t thread) const override {
    const uint32_t rows = run.rows(out_);
    const Part mine = in_private_ ? Part{0, rows} : part_of(rows, thread, run.state.threads());
    for (uint32_t i = mine.begin; i < mine.end; i++)
      for (const RowOp& op : ops_) run_row(run, thread, op, i);
  }

 private:
  static void add_norm(const State& state, const Plan& plan, const Op& op, RowOp& row) {
    const auto vector = [&](size_t i) {
      return op.weights.size() > i ? state.vectors[static_cast<size_t>(op.weights[i])].data() : nullptr;
    };
    row.gain = vector(0);
    row.bias = vector(1);
    const uint32_t part = row.width / op.as<NormAttrs>().heads;
    if (row.gain != nullptr && plan.weight(op.weights[0]).cols > part) row.part_stride = part;
  }

  float* row(const Run& run, uint32_t thread, ValueId v, uint32_t i) const {
    const ptrdiff_t slot = slot_[static_cast<size_t>(v)];
    return slot >= 0 ? reinterpret_cast<float*>(run.scratch[thread] + slot) : run.row(v, thread, i);
  }

  QuantizedRows quantized(const Run& run, uint32_t thread, ValueId v, uint32_t i) const {
    const ptrdiff_t slot = slot_[static_cast<size_t>(v)];
    if (slot < 0) return quantized_rows(run, v, thread).from(i, 0);
    return quantized_parts(run.plan.value(v), 1, run.scratch[thread] + slot);
  }

  void run_row(const Run& run, uint32_t thread, const RowOp& r, uint32_t i) const {
    const Kernels& k = *run.state.kernels;
    const Op& op = *r.op;
    if (op.kind == OpKind::kQuantAct) {
      quantized(run, thread, op.out[0], i).quantize(k, row(run, thread, op.in[0], i), r.width);
      return;
    }
    float* out = row(run, thread, op.out[0], i);
    switch (op.kind) {
      case OpKind::kEmbed:
        k.unpack_row(*r.table, table_row(op.as<EmbedAttrs>().index, run.batch, i), out);
        break;
      case OpKind::kHiddenIn:
        ENSURE((size_t{i} + 1) * r.width <= run.batch.hidden.size(), "no hidden row {} in the batch", i);
        std::memcpy(out, run.batch.hidden.data() + size_t{i} * r.width, r.width * sizeof(float));
        break;
      case OpKind::kGatherRows:
        std::memcpy(out, row(run, thread, op.in[0], static_cast<uint32_t>(run.batch.rows[i])),
                    r.width * sizeof(float));
        break;
      case OpKind::kRmsNorm:
        k.rms_norm(row(run, thread, op.in[0], i), r.gain, r.width, op.as<NormAttrs>().eps, out);
        break;
      case OpKind::kLayerNorm: {
        const float* x = row(run, thread, op.in[0], i);
        const uint32_t heads = op.as<NormAttrs>().heads, part = r.width / heads;
        for (uint32_t h = 0; h < heads; h++)
          k.layer_norm(x + h * part, r.gain == nullptr ? nullptr : r.gain + h * r.part_stride,
                       r.bias == nullptr ? nullptr : r.bias + h * r.part_stride, part, op.as<NormAttrs>().eps,
                       out + h * part);
        break;
      }
      case OpKind::kAdd:
        k.add(row(run, thread, op.in[0], i), row(run, thread, op.in[1], i), r.width, out);
        break;
      case OpKind::kScale:
        k.scale(row(run, thread, op.in[0], i), op.as<ScaleAttrs>().factor, r.width, out);
        break;
      case OpKind::kConcat: {
        const uint32_t heads = op.as<ConcatAttrs>().heads;
        const size_t p = run.plan.value(op.in[0]).width / heads, q = run.plan.value(op.in[1]).width / heads;
        const float *a = row(run, thread, op.in[0], i), *b = row(run, thread, op.in[1], i);
        for (uint32_t h = 0; h < heads; h++) {
          std::memcpy(out + h * (p + q), a + h * p, p * sizeof(float));
          std::memcpy(out + h * (p + q) + p, b + h * q, q * sizeof(float));
        }
        break;
      }
      case OpKind::kSlice:
        std::memcpy(out, row(run, thread, op.in[0], i) + op.as<SliceAttrs>().begin, r.width * sizeof(float));
        break;
      case OpKind::kRopeTable:
        fill_rope(op.as<RopeTableAttrs>(), run.batch.positions[i], out);
        break;
      default:
        ENSURE(false, "{} is not row-wise", op_name(op.kind));
    }
  }

  static uint32_t table_row(EmbedIndex index, const Batch& batch, uint32_t i) {
    if (index == EmbedIndex::kFirst) return 0;
    return static_cast<uint32_t>(index == EmbedIndex::kToken ? batch.ids[i] : batch.positions[i]);
  }

  static void fill_rope(const RopeTableAttrs& a, int32_t position, float* out) {
    for (size_t i = 0; i < a.inv_freq.size(); i++) {
      const double angle = static_cast<float>(position) * a.inv_freq[i];  // the product is rounded to f32
      out[2 * i] = static_cast<float>(std::cos(angle)) * a.magnitude;
      out[2 * i + 1] = static_cast<float>(std::sin(angle)) * a.magnitude;
    }
  }

  std::vector<RowOp> ops_;
  std::vector<ptrdiff_t> slot_;  // [value] offset in scratch, or −1
  size_t scratch_ = 0;
  ValueId out_;
  bool in_private_;
};

// act, act_mul and softcap alone: any cut of the row will do, so that one long row keeps all threads busy.
class ColumnsRunner : public StepRunner {
 public:
  ColumnsRunner(const Plan& plan, const Step& step)
      : op_(&plan.ops[step.ops[0]]), width_(plan.value(op_->out[0]).width) {}

  void run(const Run& run, uint32_t thread) const override {
    const Kernels& k = *run.state.kernels;
    const Part mine = part_of((width_ + 15) / 16, thread, run.state.threads());
    const uint32_t begin = mine.begin * 16, end = std::min(mine.end * 16, width_);
    if (begin >= end) return;
    for (uint32_t i = 0; i < run.rows(op_->out[0]); i++) {
      const float* a = run.row(op_->in[0], thread, i) + begin;
      float* y = run.row(op_->out[0], thread, i) + begin;
      if (op_->kind == OpKind::kAct)
        k.act(op_->as<ActAttrs>().kind, a, end - begin, y);
      else if (op_->kind == OpKind::kActMul)
        k.act_mul(op_->as<ActAttrs>().kind, a, run.row(op_->in[1], thread, i) + begin, end - begin, y);
      else
        k.softcap(a, op_->as<ScaleAttrs>().factor, end - begin, y);
    }
  }

 private:
  const Op* op_;
  uint32_t width_;
};

// Sums run over a sequence's rows in order, each column by itself: threads share the columns.
class PoolRunner : public StepRunner {
 public:
  PoolRunner(const Plan& plan, const Step& step)
      : in_(plan.ops[step.ops[0]].in[0]),
        out_(plan.ops[step.ops[0]].out[0]),
        kind_(plan.ops[step.ops[0]].as<PoolAttrs>().kind),
        width_(plan.value(out_).width) {}

  void run(const Run& run, uint32_t thread) const override {
    const Part mine = part_of((width_ + 15) / 16, thread, run.state.threads());
    const uint32_t begin = mine.begin * 16, end = std::min(mine.end * 16, width_);
    if (begin >= end) return;
    for (uint32_t r = 0; r < run.r(); r++) {
      const auto row = static_cast<uint32_t>(run.batch.rows[r]);
      const auto owner = std::ranges::find_if(run.runs, [&](const SequenceRun& s) { return row < s.end; });
      pool(run, thread, *owner, begin, end - begin, run.row(out_, thread, r) + begin);
    }
  }

 private:
  void pool(const Run& run, uint32_t thread, const SequenceRun& rows, uint32_t begin, uint32_t n,
            float* y) const {
    const Kernels& k = *run.state.kernels;
    std::memcpy(y, run.row(in_, thread, rows.begin) + begin, n * sizeof(float));
    if (kind_ == PoolKind::kFirst) return;
    for (uint32_t t = rows.begin + 1; t < rows.end; t++) k.add(y, run.row(in_, thread, t) + begin, n, y);
    k.scale(y, 1.0f / static_cast<float>(rows.end - rows.begin), n, y);
  }

  ValueId in_, out_;
  PoolKind kind_;
  uint32_t width_;
};

}  // namespace

std::unique_ptr<StepRunner> make_pool_runner(const State&, const Plan& plan, const Step& step) {
  return std::make_unique<PoolRunner>(plan, step);
}
std::unique_ptr<StepRunner> make_rows_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<RowsRunner>(state, plan, step);
}
std::unique_ptr<StepRunner> make_columns_runner(const State&, const Plan& plan, const Step& step) {
  return std::make_unique<ColumnsRunner>(plan, step);
}

}  // namespace brass::cpu
