// Steps with a state: work is shared out over sequences, heads and blocks of state columns (convolutions: blocks of
// channels), so that one token of one sequence keeps all threads busy.
#include <algorithm>
#include <map>

#include "backend/cpu/device_state.h"

namespace brass::cpu {
namespace {

constexpr uint32_t kChannels = 64;  // of a convolution, in one unit of work

// Rows of one sequence in an operation's state.
StateAccess access(const Run& run, uint32_t group, uint32_t layer, size_t offset, const SequenceRun& s) {
  const Pool& pool = run.state.pools[group];
  const StatePages pages = run.batch.states[static_cast<size_t>(s.sequence)];
  return {.pages = pool.state(0, layer) + offset,
          .page_stride = pool.page_bytes / sizeof(float),
          .in = pages.in,
          .out = pages.out,
          .snapshots = run.batch.snapshots.empty() ? nullptr : run.batch.snapshots.data() + s.begin};
}

class RecurrentRunner : public StepRunner {
 public:
  RecurrentRunner(const State& state, const Plan& plan, const Step& step) : op_(&plan.ops[step.ops[0]]) {
    const auto vector = [&](size_t i) { return state.vectors[static_cast<size_t>(op_->weights[i])].data(); };
    uint32_t taps = 0;
    width_ = plan.value(op_->out[0]).width;
    for (size_t i = 0; i < op_->weights.size(); i++) weights_[i] = vector(i);
    if (op_->kind == OpKind::kConv1d) {
      taps = op_->as<ConvAttrs>().taps;
      heads_ = 1;
      blocks_ = (width_ + kChannels - 1) / kChannels;
    } else {
      const bool delta = op_->kind == OpKind::kDeltaNet;
      heads_ = delta ? op_->as<DeltaAttrs>().v_heads : op_->as<SsmAttrs>().heads;
      const uint32_t cols = delta ? op_->as<DeltaAttrs>().v_dim : op_->as<SsmAttrs>().dim;
      blocks_ = (cols + kStateColumns - 1) / kStateColumns;
    }
    scratch_ = round_up(state.kernels->recurrent_scratch(plan.key.t, taps), kAlign);
  }

  size_t scratch_bytes() const override { return scratch_; }

  // Units of all sequences, cut evenly by the rows that they cost; a unit is done by one thread.
  void run(const Run& run, uint32_t thread) const override {
    const uint32_t units = heads_ * blocks_;
    uint64_t rows = 0;
    for (const SequenceRun& s : run.runs) rows += s.end - s.begin;
    const uint64_t cost = rows * units;
    const uint64_t begin = cost * thread / run.state.threads(),
                   end = cost * (thread + 1) / run.state.threads();
    uint64_t at = 0;
    for (const SequenceRun& s : run.runs) {
      const uint64_t each = s.end - s.begin;
      // A unit belongs to the thread in whose part it begins.
      const auto first = [&](uint64_t from) {
        return from <= at ? 0
                          : static_cast<uint32_t>(std::min<uint64_t>((from - at + each - 1) / each, units));
      };
      run_units(run, thread, s, first(begin), first(end));
      at += each * units;
    }
  }

 private:
  void run_units(const Run& run, uint32_t thread, const SequenceRun& s, uint32_t begin, uint32_t end) const {
    while (begin < end) {
      const uint32_t head = begin / blocks_, stop = std::min((head + 1) * blocks_, end);
      const uint32_t first = begin - head * blocks_, last = stop - head * blocks_;
      if (s.sequence < 0)
        clear(run, thread, s, head, first, last);
      else if (op_->kind == OpKind::kConv1d)
        convolve(run, thread, s, first, last);
      else if (op_->kind == OpKind::kDeltaNet)
        delta(run, thread, s, head, first, last);
      else
        scan(run, thread, s, head, first, last);
      begin = stop;
    }
  }

  // Padding.
  void clear(const Run& run, uint32_t thread, const SequenceRun& s, uint32_t head, uint32_t first,
             uint32_t last) const {
    const uint32_t width = width_ / heads_, unit = op_->kind == OpKind::kConv1d ? kChannels : kStateColumns;
    for (uint32_t t = s.begin; t < s.end; t++) {
      float* y = run.row(op_->out[0], thread, t) + head * width;
      std::fill(y + first * unit, y + std::min(last * unit, width), 0.0f);
    }
  }

  size_t stride(const Run& run, ValueId v) const { return run.plan.place(v).stride; }
  float* scratch(const Run& run, uint32_t thread) const {
    return reinterpret_cast<float*>(run.scratch[thread]);
  }

  void convolve(const Run& run, uint32_t thread, const SequenceRun& s, uint32_t first, uint32_t last) const {
    const auto& a = op_->as<ConvAttrs>();
    const ConvItem item{.state = access(run, a.group, a.layer, 0, s),
                        .u = run.row(op_->in[0], thread, s.begin),
                        .u_stride = stride(run, op_->in[0]),
                        .y = run.row(op_->out[0], thread, s.begin),
                        .y_stride = stride(run, op_->out[0]),
                        .rows = s.end - s.begin,
                        .channels = width_,
                        .taps = a.taps,
                        .begin = first * kChannels,
                        .end = std::min(last * kChannels, width_),
                        .weight = weights_[0],
                        .bias = a.bias ? weights_[1] : nullptr,
                        .silu = a.silu};
    run.state.kernels->conv1d(item, scratch(run, thread));
  }

  void delta(const Run& run, uint32_t thread, const SequenceRun& s, uint32_t head, uint32_t first,
             uint32_t last) const {
    const auto& a = op_->as<DeltaAttrs>();
    const uint32_t from = a.tiled ? head % a.k_heads : head / (a.v_heads / a.k_heads);
    const float* q = run.row(op_->in[0], thread, s.begin);
    const float* k = q + a.k_heads * a.k_dim;
    const DeltaItem item{.state = access(run, a.group, a.layer, size_t{head} * a.k_dim * a.v_dim, s),
                         .q = q + from * a.k_dim,
                         .k = k + from * a.k_dim,
                         .v = k + a.k_heads * a.k_dim + head * a.v_dim,
                         .stride = stride(run, op_->in[0]),
                         .b = run.row(op_->in[1], thread, s.begin) + head,
                         .a = run.row(op_->in[2], thread, s.begin) + head,
                         .b_stride = stride(run, op_->in[1]),
                         .a_stride = stride(run, op_->in[2]),
                         .decay = weights_[0][head],
                         .dt_bias = weights_[1][head],
                         .y = run.row(op_->out[0], thread, s.begin) + head * a.v_dim,
                         .y_stride = stride(run, op_->out[0]),
                         .rows = s.end - s.begin,
                         .k_dim = a.k_dim,
                         .v_dim = a.v_dim,
                         .block_begin = first,
                         .block_end = last};
    run.state.kernels->delta_net(item, scratch(run, thread));
  }

  void scan(const Run& run, uint32_t thread, const SequenceRun& s, uint32_t head, uint32_t first,
            uint32_t last) const {
    const auto& a = op_->as<SsmAttrs>();
    const float* x = run.row(op_->in[0], thread, s.begin);
    const float* in = x + a.heads * a.dim + head / (a.heads / a.groups) * a.state;
    const SsmItem item{.state = access(run, a.group, a.layer, size_t{head} * a.dim * a.state, s),
                       .x = x + head * a.dim,
                       .in = in,
                       .out = in + a.groups * a.state,
                       .stride = stride(run, op_->in[0]),
                       .dt = run.row(op_->in[1], thread, s.begin) + head,
                       .dt_stride = stride(run, op_->in[1]),
                       .decay = weights_[0][head],
                       .skip = weights_[1][head],
                       .dt_bias = weights_[2][head],
                       .y = run.row(op_->out[0], thread, s.begin) + head * a.dim,
                       .y_stride = stride(run, op_->out[0]),
                       .rows = s.end - s.begin,
                       .dim = a.dim,
                       .state_dim = a.state,
                       .block_begin = first,
                       .block_end = last};
    run.state.kernels->ssm_scan(item, scratch(run, thread));
  }

  const Op* op_;
  uint32_t width_, heads_, blocks_;
  const float* weights_[3] = {};
  size_t scratch_;
};

// f(index in a page, index as others see it) for every value.
template <class Fn>
void each_value(const StateShape& s, Fn f) {
  size_t at = 0;
  for (uint32_t h = 0; h < s.heads; h++)
    for (uint32_t begin = 0; begin < s.cols; begin += kStateColumns)
      for (uint32_t r = 0; r < s.rows; r++)
        for (uint32_t c = begin; c < std::min(begin + kStateColumns, s.cols); c++)
          f(at++,
            size_t{h} * s.rows * s.cols + (s.transposed ? size_t{c} * s.rows + r : size_t{r} * s.cols + c));
}

}  // namespace

std::vector<StateShape> state_shapes(const Graph& graph, uint32_t group) {
  std::vector<StateShape> shapes(graph.groups[group].states.size());
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::kDeltaNet) {
      const auto& a = op.as<DeltaAttrs>();
      if (a.group == group) shapes[a.layer] = {a.v_heads, a.k_dim, a.v_dim, false};
    } else if (op.kind == OpKind::kSsmScan) {
      const auto& a = op.as<SsmAttrs>();
      if (a.group == group) shapes[a.layer] = {a.heads, a.state, a.dim, true};
    }
  }
  return shapes;
}

void export_state(const StateShape& shape, uint32_t values, const float* state, float* out) {
  if (shape.heads == 0) std::copy_n(state, values, out);
  each_value(shape, [&](size_t inside, size_t outside) { out[outside] = state[inside]; });
}

void import_state(const StateShape& shape, uint32_t values, const float* in, float* state) {
  if (shape.heads == 0) std::copy_n(in, values, state);
  each_value(shape, [&](size_t inside, size_t outside) { state[inside] = in[outside]; });
}

void transpose_taps(std::span<const Graph* const> graphs, std::vector<std::vector<float>>& vectors) {
  std::map<WeightId, uint32_t> taps;  // a weight that several operations read is turned once
  for (const Graph* graph : graphs)
    for (const Op& op : graph->ops)
      if (op.kind == OpKind::kConv1d) taps[op.weights[0]] = op.as<ConvAttrs>().taps;
  for (const auto& [id, n] : taps) {
    std::vector<float>& vector = vectors[static_cast<size_t>(id)];
    const uint32_t channels = graphs.front()->weights[static_cast<size_t>(id)].cols / n;
    std::vector<float> turned(vector.size());
    for (uint32_t c = 0; c < channels; c++)
      for (uint32_t j = 0; j < n; j++) turned[j * channels + c] = vector[c * n + j];
    vector = std::move(turned);
  }
}

void check_states(const Batch& batch, std::span<const SequenceRun> runs, const Pool& pool) {
  if (pool.states.empty()) return;
  const auto has = [&](PageId page) { return page >= 0 && static_cast<uint32_t>(page) < pool.pages; };
  ENSURE(batch.snapshots.empty() || batch.snapshots.size() == batch.ids.size(), "{} snapshots for {} rows",
         batch.snapshots.size(), batch.ids.size());
  for (const SequenceRun& s : runs) {
    if (s.sequence < 0) continue;
    ENSURE(static_cast<size_t>(s.sequence) < batch.states.size(), "no state of sequence {}", s.sequence);
    const StatePages mine = batch.states[static_cast<size_t>(s.sequence)];
    ENSURE(has(mine.out) && (mine.in == -1 || has(mine.in)), "states {}, {} of {}", mine.in, mine.out,
           pool.pages);
    for (const SequenceRun& other : runs) {
      if (&other == &s || other.sequence < 0) continue;
      const StatePages theirs = batch.states[static_cast<size_t>(other.sequence)];
      ENSURE(other.sequence != s.sequence && mine.out != theirs.in && mine.out != theirs.out,
             "sequences {} and {} share state {}", s.sequence, other.sequence, mine.out);
      if (batch.snapshots.empty()) continue;
      for (uint32_t t = s.begin; t < s.end; t++)
        ENSURE(batch.snapshots[t] < 0 || (has(batch.snapshots[t]) && batch.snapshots[t] != theirs.in &&
                                          batch.snapshots[t] != theirs.out),
               "snapshot {} is a state of sequence {}", batch.snapshots[t], other.sequence);
    }
  }
}

std::unique_ptr<StepRunner> make_recurrent_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<RecurrentRunner>(state, plan, step);
}

}  // namespace brass::cpu
