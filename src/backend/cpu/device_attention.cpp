// Steps between the projections of a layer: norm and rotation of heads, the write of K and V, attention.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "backend/cpu/device_state.h"

namespace brass::cpu {
namespace {

const Pool& pool_of(const Run& run, uint32_t group) { return run.state.pools[group]; }

PageTable table_of(const Run& run, int32_t sequence, uint32_t group) {
  return run.batch.page_tables[static_cast<size_t>(sequence) * run.state.pools.size() + group];
}

// ---- head_rope_write
// ------------------------------------------------------------------------------------------

// What happens to one value's heads on their way: norm, rotation, then memory or the arena.
struct Lane {
  ValueId in = -1, out = -1;
  uint32_t heads = 0, dim = 0;
  bool norm = false, norm_last = false;  // last: behind the rotation
  const float* gain = nullptr;           // or none
  uint32_t gain_stride = 0;              // from head to head
  float eps = 0;
  ValueId table = -1;
  uint32_t n_rot = 0;
  bool neox = false;
  const KvAttrs* kv = nullptr;
  bool is_value = false;  // v of the write, else k
};

class HeadsRunner : public StepRunner {
 public:
  HeadsRunner(const State& state, const Plan& plan, const Step& step) {
    for (const uint32_t o : step.ops) add(state, plan, plan.ops[o]);
    for (Lane& lane : lanes_) {
      units_ += lane.heads;
      widest_ = std::max(widest_, lane.dim);
    }
  }

  size_t scratch_bytes() const override { return round_up(widest_ * sizeof(float), kAlign); }

  void run(const Run& run, uint32_t thread) const override {
    const Part mine = part_of(run.rows(lanes_[0].in) * units_, thread, run.state.threads());
    for (uint32_t i = mine.begin; i < mine.end; i++) {
      const uint32_t token = i / units_;
      uint32_t unit = i % units_;
      size_t lane = 0;
      while (unit >= lanes_[lane].heads) unit -= lanes_[lane++].heads;
      run_head(run, thread, lanes_[lane], token, unit);
    }
  }

 private:
  // The lane that makes v, or a new one that begins with it.
  Lane& lane_of(const Plan& plan, ValueId v, uint32_t heads) {
    for (Lane& lane : lanes_)
      if (lane.out == v && lane.kv == nullptr) return lane;
    return lanes_.emplace_back(Lane{.in = v, .out = v, .heads = heads, .dim = plan.value(v).width / heads});
  }

  void add(const State& state, const Plan& plan, const Op& op) {
    if (op.kind == OpKind::kHeadNorm) {
      Lane& lane = lane_of(plan, op.in[0], op.as<NormAttrs>().heads);
      ENSURE(!lane.norm, "{} norms twice", op.name);
      lane.norm = true;
      lane.norm_last = lane.table >= 0;
      if (!op.weights.empty()) {
        lane.gain = state.vectors[static_cast<size_t>(op.weights[0])].data();
        if (plan.weight(op.weights[0]).cols > lane.dim) lane.gain_stride = lane.dim;
      }
      lane.eps = op.as<NormAttrs>().eps;
      lane.out = op.out[0];
    } else if (op.kind == OpKind::kRope) {
      const auto& a = op.as<RopeAttrs>();
      Lane& lane = lane_of(plan, op.in[0], a.heads);
      ENSURE(lane.table < 0, "{} rotates twice", op.name);
      lane.table = op.in[1];
      lane.n_rot = a.n_rot;
      lane.neox = a.neox;
      lane.out = op.out[0];
    } else {
      const auto& a = op.as<KvAttrs>();
      for (const bool is_value : {false, true}) {
        if (is_value && a.v_dim == 0) continue;
        Lane& lane = lane_of(plan, op.in[is_value ? 1 : 0], a.heads);
        lane.kv = &a;
        lane.is_value = is_value;
      }
    }
  }

  void run_head(const Run& run, uint32_t thread, const Lane& lane, uint32_t token, uint32_t head) const {
    const Kernels& k = *run.state.kernels;
    const float* x = run.row(lane.in, thread, token) + head * lane.dim;
    float* y = reinterpret_cast<float*>(run.scratch[thread]);
    const float* gain = lane.gain == nullptr ? nullptr : lane.gain + head * lane.gain_stride;
    if (lane.norm && !lane.norm_last)
      k.rms_norm(x, gain, lane.dim, lane.eps, y);
    else
      std::memcpy(y, x, lane.dim * sizeof(float));
    if (lane.table >= 0) k.rope(y, lane.n_rot, lane.neox, run.row(lane.table, thread, token));
    if (lane.norm_last) k.rms_norm(y, gain, lane.dim, lane.eps, y);
    if (lane.kv != nullptr)
      store(run, lane, token, head, y);
    else
      std::memcpy(run.row(lane.out, thread, token) + head * lane.dim, y, lane.dim * sizeof(float));
  }

  static void store(const Run& run, const Lane& lane, uint32_t token, uint32_t head, const float* y) {
    const int32_t sequence = run.batch.sequences[token];
    if (sequence < 0) return;
    const Kernels& k = *run.state.kernels;
    const Pool& pool = pool_of(run, lane.kv->group);
    const auto position = static_cast<uint32_t>(run.batch.positions[token]);
    const PageId page = table_of(run, sequence, lane.kv->group)[position / kBlock];
    if (lane.is_value)
      k.kv_store_v(pool.v_type, pool.v(page, lane.kv->layer, head), lane.dim, position % kBlock, y);
    else
      k.kv_store_k(pool.k_type, pool.k(page, lane.kv->layer, head), lane.dim, position % kBlock, y);
  }

  std::vector<Lane> lanes_;
  uint32_t units_ = 0, widest_ = 0;
};

// ---- attention, attention_quant
// -------------------------------------------------------------------------------

// Work is cut into items: up to kTokens rows of one sequence × a unit of heads. The unit is such that
// quantized groups (32 values, padded to 64 at the end of a row) never cross two items.
class AttentionRunner : public StepRunner {
 public:
  AttentionRunner(const State& state, const Plan& plan, const Step& step) {
    const Op& op = plan.ops[step.ops[0]];
    a_ = op.as<AttentionAttrs>();
    in_ = op.in[0];
    out_ = op.out[0];
    if (step.ops.size() > 1) quantized_ = plan.ops[step.ops[1]].out[0];
    per_kv_ = a_.q_heads / a_.kv_heads;
    if (a_.sinks) sinks_ = state.vectors[static_cast<size_t>(op.weights[0])].data();
    if (quantized_ >= 0) align_ = std::min(64u / std::gcd(64u, a_.v_dim), a_.q_heads);
    // A whole group of heads shares each load of K and V; single heads spread better when there is one token.
    wide_unit_ = std::min(static_cast<uint32_t>(round_up(per_kv_, align_)), a_.q_heads);
    max_rows_ = kTokens * wide_unit_;
    attend_scratch_ = round_up(state.kernels->attend_scratch(max_rows_, a_.v_dim), kAlign);
    pages_ = 0;
    for (const Pool& p : state.pools) pages_ = std::max(pages_, p.pages);
  }

  size_t scratch_bytes() const override {
    return attend_scratch_ + q_bytes() + out_bytes() + position_bytes() + sink_bytes() +
           2 * pages_ * sizeof(void*);
  }

  void run(const Run& run, uint32_t thread) const override {
    const uint32_t unit = run.t() >= 2 * run.state.threads() ? wide_unit_ : align_;
    const uint32_t units = (a_.q_heads + unit - 1) / unit;
    uint32_t tiles = 0;
    for (const SequenceRun& s : run.runs) tiles += (s.end - s.begin + kTokens - 1) / kTokens;
    const uint32_t items = tiles * units;
    if (items <= 4 * run.state.threads()) {
      const Part mine = part_of(items, thread, run.state.threads());
      for (uint32_t i = mine.begin; i < mine.end; i++) run_item(run, thread, i, units, unit);
      return;
    }
    while (true) {  // late tiles of a prompt see more positions: handed out from the dearest on
      const uint32_t i = run.counter->fetch_add(1, std::memory_order_relaxed);
      if (i >= items) return;
      run_item(run, thread, items - 1 - i, units, unit);
    }
  }

 private:
  static constexpr uint32_t kTokens = 16;

  size_t q_bytes() const { return round_up(size_t{max_rows_} * q_stride() * sizeof(float), kAlign); }
  size_t out_bytes() const {
    return round_up(size_t{kTokens} * round_up(wide_unit_ * a_.v_dim, 16) * sizeof(float), kAlign) +
           round_up(size_t{max_rows_} * v_stride() * sizeof(float), kAlign);
  }
  size_t position_bytes() const { return round_up(max_rows_ * sizeof(int32_t), kAlign); }
  size_t sink_bytes() const { return round_up(max_rows_ * sizeof(float), kAlign); }
  size_t q_stride() const { return round_up(a_.k_dim, 16); }
  size_t v_stride() const { return round_up(a_.v_dim, 16); }

  void run_item(const Run& run, uint32_t thread, uint32_t item, uint32_t units, uint32_t unit) const {
    uint32_t tile = item / units;
    const uint32_t head_begin = item % units * unit, head_end = std::min(head_begin + unit, a_.q_heads);
    for (const SequenceRun& s : run.runs) {
      const uint32_t here = (s.end - s.begin + kTokens - 1) / kTokens;
      if (tile >= here) {
        tile -= here;
        continue;
      }
      const uint32_t begin = s.begin + tile * kTokens, end = std::min(begin + kTokens, s.end);
      float* joined = reinterpret_cast<float*>(run.scratch[thread] + attend_scratch_ + q_bytes());
      const size_t joined_stride = round_up((head_end - head_begin) * a_.v_dim, 16);
      for (uint32_t h = head_begin; h < head_end;) {
        const uint32_t kv_head = h / per_kv_;
        const uint32_t next = std::min((kv_head + 1) * per_kv_, head_end);
        if (s.sequence >= 0)
          attend(run, thread, s, begin, end, kv_head, h, next, joined + (h - head_begin) * a_.v_dim,
                 joined_stride);
        h = next;
      }
      if (s.sequence < 0) std::memset(joined, 0, (end - begin) * joined_stride * sizeof(float));
      emit(run, thread, begin, end, head_begin, head_end, joined, joined_stride);
      return;
    }
  }

  // Heads [h, next) of one KV head, tokens [begin, end): gathers q, attends, scatters into `joined`.
  void attend(const Run& run, uint32_t thread, const SequenceRun& s, uint32_t begin, uint32_t end,
              uint32_t kv_head, uint32_t h, uint32_t next, float* joined, size_t joined_stride) const {
    std::byte* at = run.scratch[thread] + attend_scratch_;
    float* q = reinterpret_cast<float*>(at);
    float* o = reinterpret_cast<float*>(at + q_bytes()) + kTokens * round_up(wide_unit_ * a_.v_dim, 16);
    auto* position = reinterpret_cast<int32_t*>(at + q_bytes() + out_bytes());
    auto* sinks = reinterpret_cast<float*>(at + q_bytes() + out_bytes() + position_bytes());
    auto* k_page =
        reinterpret_cast<const std::byte**>(at + q_bytes() + out_bytes() + position_bytes() + sink_bytes());
    const std::byte** v_page = k_page + pages_;

    const Pool& pool = pool_of(run, a_.group);
    const PageTable table = table_of(run, s.sequence, a_.group);
    // Page pointers from the first block that the window leaves visible; indexed by absolute block.
    const int32_t oldest = a_.window > 0 ? std::max(run.batch.positions[begin] - a_.window + 1, 0) : 0;
    const uint32_t first_block = static_cast<uint32_t>(oldest) / kBlock;
    // The kernel hides what is behind a row's position: a row that sees all stands at the last one.
    const int32_t newest = run.batch.positions[(a_.causal ? end : s.end) - 1];
    const auto last_block = static_cast<uint32_t>(newest) / kBlock;
    ENSURE(last_block - first_block < pages_, "{} blocks", last_block - first_block + 1);
    for (uint32_t i = first_block; i <= last_block; i++) {
      k_page[i - first_block] = pool.k(table[i], a_.layer, kv_head);
      v_page[i - first_block] = pool.v(table[i], a_.layer, kv_head);
    }
    k_page -= first_block;
    v_page -= first_block;
    uint32_t rows = 0;
    for (uint32_t t = begin; t < end; t++) {
      for (uint32_t i = h; i < next; i++, rows++) {
        gather(run.row(in_, thread, t) + size_t{i} * a_.k_dim, warmth(run.batch.positions[t]),
               q + rows * q_stride());
        position[rows] = a_.causal ? run.batch.positions[t] : newest;
        if (sinks_ != nullptr) sinks[rows] = sinks_[i];
      }
    }
    const AttendItem item{.q = q,
                          .q_stride = q_stride(),
                          .out = o,
                          .out_stride = v_stride(),
                          .position = position,
                          .rows = rows,
                          .k_page = k_page,
                          .v_page = v_page,
                          .k_type = pool.k_type,
                          .v_type = pool.v_type,
                          .k_dim = a_.k_dim,
                          .v_dim = a_.v_dim,
                          .scale = a_.scale,
                          .softcap = a_.softcap,
                          .window = a_.window,
                          .sinks = sinks_ == nullptr ? nullptr : sinks};
    run.state.kernels->attend(item, run.scratch[thread]);
    rows = 0;
    for (uint32_t t = begin; t < end; t++)
      for (uint32_t i = h; i < next; i++, rows++)
        std::memcpy(joined + (t - begin) * joined_stride + (i - h) * a_.v_dim, o + rows * v_stride(),
                    a_.v_dim * sizeof(float));
  }

  // What the logits of a query at this position are multiplied by, beside the scale.
  float warmth(int32_t position) const {
    if (a_.temperature == 0) return 1;
    const double steps = position / static_cast<int32_t>(a_.temperature_length);
    return static_cast<float>(1 + static_cast<double>(a_.temperature) * std::log1p(steps));
  }

  void gather(const float* x, float factor, float* q) const {
    if (factor == 1)
      std::memcpy(q, x, a_.k_dim * sizeof(float));
    else
      for (uint32_t i = 0; i < a_.k_dim; i++) q[i] = x[i] * factor;
  }

  void emit(const Run& run, uint32_t thread, uint32_t begin, uint32_t end, uint32_t head_begin,
            uint32_t head_end, const float* joined, size_t joined_stride) const {
    const uint32_t column = head_begin * a_.v_dim, width = (head_end - head_begin) * a_.v_dim;
    for (uint32_t t = begin; t < end; t++) {
      const float* row = joined + (t - begin) * joined_stride;
      if (quantized_ < 0) {
        std::memcpy(run.row(out_, thread, t) + column, row, width * sizeof(float));
        continue;
      }
      quantized_rows(run, quantized_, thread).from(t, column).quantize(*run.state.kernels, row, width);
    }
  }

  AttentionAttrs a_;
  const float* sinks_ = nullptr;  // [q_heads] or none
  ValueId in_, out_, quantized_ = -1;
  uint32_t per_kv_, align_ = 1, wide_unit_, max_rows_, pages_;
  size_t attend_scratch_;
};

}  // namespace

std::unique_ptr<StepRunner> make_heads_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<HeadsRunner>(state, plan, step);
}
std::unique_ptr<StepRunner> make_attention_runner(const State& state, const Plan& plan, const Step& step) {
  return std::make_unique<AttentionRunner>(state, plan, step);
}

}  // namespace brass::cpu
