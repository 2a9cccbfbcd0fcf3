#include "backend/cpu/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>

#include "backend/cpu/device_state.h"

namespace brass {
namespace cpu {

Result<Memory> Memory::allocate(size_t bytes) {
  Memory memory;
  if (bytes == 0) return memory;
  constexpr size_t kHuge = size_t{2} << 20;
  memory.bytes_ = round_up(bytes, kHuge);
  void* data = mmap(nullptr, memory.bytes_ + kHuge, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return fail_hint("give a smaller --context, or close other programs", "{:.1f} GB of memory cannot be had",
                     static_cast<double>(bytes) / 1e9);
  // Aligned to huge pages: the ends that stick out are given back.
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t aligned = round_up(begin, kHuge);
  if (aligned > begin) munmap(data, aligned - begin);
  munmap(reinterpret_cast<void*>(aligned + memory.bytes_), begin + kHuge - aligned);
  memory.data_ = reinterpret_cast<std::byte*>(aligned);
  madvise(memory.data_, memory.bytes_, MADV_HUGEPAGE);
  return memory;
}

Memory::~Memory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

QuantizedRows quantized_parts(const Value& value, uint32_t rows, std::byte* at) {
  const QuantizedLayout layout = quantized_layout(value.width, rows, value.int8_terms);
  return {reinterpret_cast<int8_t*>(at),
          value.int8_terms > 1 ? reinterpret_cast<int8_t*>(at + layout.seconds) : nullptr,
          reinterpret_cast<float*>(at + layout.scales),
          reinterpret_cast<float*>(at + layout.sums),
          layout.code_stride,
          layout.scale_stride};
}

QuantizedRows quantized_rows(const Run& run, ValueId v, uint32_t thread) {
  const Value& value = run.plan.value(v);
  return quantized_parts(value, value.rows == Rows::kT ? run.plan.key.t : run.plan.key.r, run.at(v, thread));
}

Activations activations(const Run& run, ValueId v, uint32_t thread) {
  if (!run.plan.value(v).quantized())
    return {.f32 = run.row(v, thread, 0),
            .f32_stride = run.plan.place(v).stride,
            .codes = nullptr,
            .code_stride = 0,
            .scale = nullptr,
            .sum = nullptr,
            .scale_stride = 0};
  const QuantizedRows q = quantized_rows(run, v, thread);
  return {.f32 = nullptr,
          .f32_stride = 0,
          .codes = q.codes,
          .code_stride = q.code_stride,
          .scale = q.scale,
          .sum = q.sum,
          .scale_stride = q.scale_stride,
          .seconds = q.seconds};
}

std::unique_ptr<StepRunner> make_runner(const State& state, const Plan& plan, const Step& step) {
  switch (plan.ops[step.ops[0]].kind) {
    case OpKind::kLinear:
    case OpKind::kLmHead:
      return step.rule.starts_with("glu") ? make_glu_runner(state, plan, step)
                                          : make_linear_runner(state, plan, step);
    case OpKind::kHeadNorm:
    case OpKind::kRope:
    case OpKind::kKvWrite:
      return make_heads_runner(state, plan, step);
    case OpKind::kAttention:
      return make_attention_runner(state, plan, step);
    case OpKind::kPool:
      return make_pool_runner(state, plan, step);
    case OpKind::kHeadLinear:
      return make_head_linear_runner(state, plan, step);
    case OpKind::kMoeRoute:
    case OpKind::kMoeLinear:
    case OpKind::kMoeCombine:
      return make_experts_runner(state, plan, step);
    case OpKind::kAct:
    case OpKind::kActMul:
    case OpKind::kSoftcap:
      return make_columns_runner(state, plan, step);
    case OpKind::kConv1d:
    case OpKind::kDeltaNet:
    case OpKind::kSsmScan:
      return make_recurrent_runner(state, plan, step);
    default:
      return make_rows_runner(state, plan, step);
  }
}

namespace {

struct Prepared {
  std::shared_ptr<const Plan> plan;
  std::vector<std::unique_ptr<StepRunner>> runners;  // [step]
};

class CpuDevice : public Device {
 public:
  CpuDevice(const CpuOptions& options, const Kernels* kernels, Caps caps)
      : options_(options), caps_(std::move(caps)) {
    state_.kernels = kernels;
    state_.pool = std::make_unique<ThreadPool>(caps_.threads, usable_cpus());
    scratch_.resize(caps_.threads);
    scratch_at_.resize(caps_.threads);
  }

  const Caps& caps() const override { return caps_; }
  std::string describe() const override {
    return fmt::format("cpu {}, {} thread{}", state_.kernels->name, caps_.threads,
                       caps_.threads == 1 ? "" : "s");
  }

  Result<> upload(std::span<const Graph* const> graphs, const Progress& progress,
                  const std::function<void(const Weight&)>& release) override;
  Result<> allocate(const Graph& graph, std::span<const PoolSpec> specs) override;
  uint64_t page_bytes(const MemoryGroup& group, KvType k_type, KvType v_type) const override {
    return make_pool(group, {0, k_type, v_type}).page_bytes;
  }
  Result<PlanHandle> prepare(std::shared_ptr<const Plan> plan) override;
  Result<> run(PlanHandle handle, const Batch& batch) override;
  std::span<const float> read(PlanHandle handle, ValueId value, uint32_t row) override;

  void copy_page(uint32_t group, PageId from, PageId to) override {
    const Pool& pool = state_.pools[group];
    std::memcpy(pool.memory.data() + static_cast<size_t>(to) * pool.page_bytes,
                pool.memory.data() + static_cast<size_t>(from) * pool.page_bytes, pool.page_bytes);
  }
  // Positions of a page interleave, and later ones are overwritten before they are read: the whole page will
  // do.
  void copy_part(uint32_t group, PageId from, PageId to, uint32_t) override { copy_page(group, from, to); }
  std::vector<float> export_page(uint32_t group, PageId page) const override;
  void import_page(uint32_t group, PageId page, std::span<const float> rows) override;

  void set_timing(bool on) override { timing_ = on; }
  std::span<const double> step_seconds() const override { return seconds_; }
  Result<DeviceProbe> probe() override { return probe_device(state_); }

 private:
  Pool make_pool(const MemoryGroup& group, const PoolSpec& spec) const;
  Result<> pack_matrix(const Weight& w, uint32_t part_rows, PackedWeight& packed);
  Result<> read_vector(const Weight& w, std::vector<float>& values) const;
  void find_runs(const Batch& batch);

  CpuOptions options_;
  Caps caps_;
  State state_;
  std::vector<Prepared> plans_;
  Memory arena_;
  std::vector<Memory> scratch_;         // [thread]
  std::vector<std::byte*> scratch_at_;  // [thread]
  std::vector<SequenceRun> runs_;
  std::vector<std::atomic<uint32_t>> counters_;  // [step]
  bool timing_ = false;
  std::vector<double> seconds_;
};

std::unexpected<Error> not_finite(const Weight& w) {
  return fail_hint("the file is damaged or was made from a damaged model: fetch it again",
                   "tensor '{}' holds a scale or value that is not finite", w.name);
}

Result<> CpuDevice::read_vector(const Weight& w, std::vector<float>& values) const {
  values = vector_values(w);
  if (options_.check_finite && !std::ranges::all_of(values, [](float x) { return std::isfinite(x); }))
    return not_finite(w);
  values.resize(round_up(w.cols, 16));
  return {};
}

// Rows of each weight that are packed together, beginning at a panel: those of one expert, of one head, or all.
std::vector<uint32_t> part_rows(std::span<const Graph* const> graphs) {
  const std::vector<Weight>& weights = graphs.front()->weights;
  std::vector<uint32_t> rows(weights.size(), 0);
  const auto note = [&](const Op& op, WeightId id) {
    const Weight& w = weights[static_cast<size_t>(id)];
    if (w.kind == WeightKind::kVector) return;
    uint32_t part = w.rows;
    if (op.kind == OpKind::kMoeLinear) part /= op.as<ExpertAttrs>().experts;
    if (op.kind == OpKind::kHeadLinear) part /= op.as<HeadLinearAttrs>().heads;
    uint32_t& known = rows[static_cast<size_t>(id)];
    ENSURE(known == 0 || known == part || (known % kPanelRows == 0 && part % kPanelRows == 0),
           "'{}' is read in parts of {} and of {} rows", w.name, known, part);
    known = part;
  };
  for (const Graph* graph : graphs)
    for (const Op& op : graph->ops)
      for (const WeightId id : op.weights) note(op, id);
  for (size_t i = 0; i < rows.size(); i++)
    if (rows[i] == 0) rows[i] = weights[i].rows;
  return rows;
}

uint32_t panel_count(uint32_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }
uint32_t panel_count(const Weight& w, uint32_t part_rows) {
  return w.rows / part_rows * panel_count(part_rows);
}

// Every thread packs the panels that it will read in decode: memory is first touched where it is used.
Result<> CpuDevice::pack_matrix(const Weight& w, uint32_t part_rows, PackedWeight& packed) {
  const Kernels& k = *state_.kernels;
  const Format& format = *find_format(w.type);
  const size_t bytes = row_bytes(format, w.cols);
  const uint32_t panels = panel_count(w, part_rows), part_panels = panel_count(part_rows);
  std::atomic<bool> finite{true};
  auto work = [&](uint32_t thread) {
    const Part mine = part_of(panels, thread, state_.threads());
    std::vector<std::byte> gathered(w.slice.run == 0 ? 0 : kPanelRows * bytes);
    for (uint32_t p = mine.begin; p < mine.end && finite.load(std::memory_order_relaxed); p++) {
      const uint32_t in_part = p % part_panels * kPanelRows;
      const uint32_t row = p / part_panels * part_rows + in_part;
      const uint32_t rows = std::min(kPanelRows, part_rows - in_part);
      const std::byte* source = w.data.data() + size_t{w.slice.row(row)} * bytes;
      if (!gathered.empty()) {
        for (uint32_t r = 0; r < rows; r++)
          std::memcpy(gathered.data() + r * bytes, w.data.data() + size_t{w.slice.row(row + r)} * bytes,
                      bytes);
        source = gathered.data();
      }
      if (options_.check_finite && format.find_non_finite(source, size_t{rows} * w.cols) >= 0)
        finite.store(false);
      k.pack(w.type, source, rows, w.cols, packed.data + size_t{p} * packed.panel_bytes);
    }
  };
  state_.pool->run(work);
  if (!finite.load()) return not_finite(w);
  return {};
}

Result<> CpuDevice::upload(std::span<const Graph* const> graphs, const Progress& progress,
                           const std::function<void(const Weight&)>& release) {
  const Graph& graph = *graphs.front();
  ENSURE(!graph.weightless, "{}", graph.architecture);
  const Kernels& k = *state_.kernels;
  state_.matrices.assign(graph.weights.size(), PackedWeight{});
  state_.vectors.assign(graph.weights.size(), {});
  const std::vector<uint32_t> parts = part_rows(graphs);
  const std::vector<bool> used = used_weights(graphs);
  size_t total = 0;
  uint64_t file_bytes = 0, done = 0;
  for (size_t i = 0; i < graph.weights.size(); i++) {
    const Weight& w = graph.weights[i];
    if (!used[i]) continue;
    file_bytes += w.bytes();
    if (w.kind != WeightKind::kMatrix) continue;
    if (!k.can_pack(w.type))
      return fail("tensor '{}' is {}, which the CPU tier '{}' has no kernel for", w.name,
                  find_format(w.type)->name, k.name);
    total += round_up(k.panel_bytes(w.type, w.cols) * panel_count(w, parts[i]), 4096);
  }
  state_.weight_memory = TRY(Memory::allocate(total));
  std::byte* at = state_.weight_memory.data();
  for (size_t i = 0; i < graph.weights.size(); i++) {
    const Weight& w = graph.weights[i];
    if (!used[i]) continue;
    if (w.kind == WeightKind::kVector) {
      TRY_VOID(read_vector(w, state_.vectors[i]));
    } else {
      PackedWeight& packed = state_.matrices[i];
      const uint32_t panels = panel_count(w, parts[i]);
      packed = {w.type, parts[i] == w.rows ? w.rows : panels * kPanelRows, w.cols,
                k.panel_bytes(w.type, w.cols), at};
      at += round_up(packed.panel_bytes * panels, 4096);
      TRY_VOID(pack_matrix(w, parts[i], packed));
      release(w);
    }
    done += w.bytes();
    if (progress) progress(done, file_bytes);
  }
  transpose_taps(graphs, state_.vectors);
  return {};
}

// ---- memory of sequences

Pool CpuDevice::make_pool(const MemoryGroup& group, const PoolSpec& spec) const {
  Pool pool{.k_type = spec.k_type,
            .v_type = spec.v_type,
            .pages = spec.pages,
            .page_bytes = 0,
            .layers = group.layers,
            .states = group.states};
  for (const KvLayer& layer : group.layers) {
    pool.k_head.push_back(round_up(state_.kernels->kv_page_bytes(spec.k_type, layer.k_dim), kAlign));
    pool.v_head.push_back(round_up(state_.kernels->kv_page_bytes(spec.v_type, layer.v_dim), kAlign));
    pool.k_offset.push_back(pool.page_bytes);
    pool.page_bytes += pool.k_head.back() * layer.heads;
    pool.v_offset.push_back(pool.page_bytes);
    pool.page_bytes += pool.v_head.back() * layer.heads;
  }
  for (const uint32_t values : group.states) {
    pool.state_offset.push_back(pool.page_bytes);
    pool.page_bytes += round_up(values * sizeof(float), kAlign);
  }
  return pool;
}

Result<> CpuDevice::allocate(const Graph& graph, std::span<const PoolSpec> specs) {
  state_.pools.clear();
  for (size_t g = 0; g < graph.groups.size(); g++) {
    Pool pool = make_pool(graph.groups[g], specs[g]);
    pool.memory = TRY(Memory::allocate(pool.page_bytes * pool.pages));
    pool.shapes = state_shapes(graph, static_cast<uint32_t>(g));
    state_.pools.push_back(std::move(pool));
  }
  return {};
}

std::vector<float> CpuDevice::export_page(uint32_t group, PageId page) const {
  const Kernels& k = *state_.kernels;
  const Pool& pool = state_.pools[group];
  std::vector<float> rows;
  for (uint32_t l = 0; l < pool.layers.size(); l++) {
    const KvLayer& layer = pool.layers[l];
    for (const bool is_value : {false, true}) {
      const uint32_t dim = is_value ? layer.v_dim : layer.k_dim;
      for (uint32_t slot = 0; slot < kBlock; slot++) {
        for (uint32_t h = 0; h < layer.heads; h++) {
          rows.resize(rows.size() + dim);
          float* row = rows.data() + rows.size() - dim;
          if (is_value)
            k.kv_load_v(pool.v_type, pool.v(page, l, h), dim, slot, row);
          else
            k.kv_load_k(pool.k_type, pool.k(page, l, h), dim, slot, row);
        }
      }
    }
  }
  for (uint32_t l = 0; l < pool.states.size(); l++) {
    rows.resize(rows.size() + pool.states[l]);
    export_state(pool.shapes[l], pool.states[l], pool.state(page, l),
                 rows.data() + rows.size() - pool.states[l]);
  }
  return rows;
}

void CpuDevice::import_page(uint32_t group, PageId page, std::span<const float> rows) {
  const Kernels& k = *state_.kernels;
  const Pool& pool = state_.pools[group];
  const float* row = rows.data();
  for (uint32_t l = 0; l < pool.layers.size(); l++) {
    const KvLayer& layer = pool.layers[l];
    for (const bool is_value : {false, true}) {
      const uint32_t dim = is_value ? layer.v_dim : layer.k_dim;
      for (uint32_t slot = 0; slot < kBlock; slot++) {
        for (uint32_t h = 0; h < layer.heads; h++, row += dim) {
          if (is_value)
            k.kv_store_v(pool.v_type, pool.v(page, l, h), dim, slot, row);
          else
            k.kv_store_k(pool.k_type, pool.k(page, l, h), dim, slot, row);
        }
      }
    }
  }
  for (uint32_t l = 0; l < pool.states.size(); row += pool.states[l++])
    import_state(pool.shapes[l], pool.states[l], row, pool.state(page, l));
  ENSURE(row == rows.data() + rows.size(), "{} values for a page", rows.size());
}

// ---- plans

Result<PlanHandle> CpuDevice::prepare(std::shared_ptr<const Plan> plan) {
  Prepared p{.plan = std::move(plan), .runners = {}};
  size_t scratch = 0;
  for (const Step& step : p.plan->steps) {
    p.runners.push_back(make_runner(state_, *p.plan, step));
    scratch = std::max(scratch, p.runners.back()->scratch_bytes());
  }
  for (uint32_t i = 0; i < caps_.threads; i++) {
    if (scratch_[i].bytes() < scratch) scratch_[i] = TRY(Memory::allocate(scratch));
    scratch_at_[i] = scratch_[i].data();
  }
  if (arena_.bytes() < p.plan->arena_bytes) arena_ = TRY(Memory::allocate(p.plan->arena_bytes));
  if (counters_.size() < p.plan->steps.size())
    counters_ = std::vector<std::atomic<uint32_t>>(p.plan->steps.size());
  seconds_.reserve(p.plan->steps.size());
  runs_.reserve(p.plan->key.t);
  plans_.push_back(std::move(p));
  return static_cast<PlanHandle>(plans_.size() - 1);
}

void CpuDevice::find_runs(const Batch& batch) {
  runs_.clear();
  for (uint32_t i = 0; i < batch.ids.size(); i++) {
    if (runs_.empty() || runs_.back().sequence != batch.sequences[i])
      runs_.push_back({i, i + 1, batch.sequences[i]});
    else
      runs_.back().end = i + 1;
  }
}

Result<> CpuDevice::run(PlanHandle handle, const Batch& batch) {
  const Prepared& p = plans_[static_cast<size_t>(handle)];
  const Plan& plan = *p.plan;
  ENSURE(batch.ids.size() <= plan.key.t && batch.rows.size() <= plan.key.r,
         "batch of {}, {} in a plan for {}, {}", batch.ids.size(), batch.rows.size(), plan.key.t, plan.key.r);
  find_runs(batch);
  for (size_t g = 0; g < state_.pools.size(); g++)
    if (plan.groups[g]) check_states(batch, runs_, state_.pools[g]);
  for (size_t i = 0; i < plan.steps.size(); i++) counters_[i].store(0, std::memory_order_relaxed);
  seconds_.assign(timing_ ? plan.steps.size() : 0, 0.0);

  auto work = [&](uint32_t thread) {
    Run run{state_, plan, batch, runs_, arena_.data(), scratch_at_.data(), nullptr};
    auto before = std::chrono::steady_clock::now();
    for (size_t i = 0; i < plan.steps.size(); i++) {
      if (plan.steps[i].barrier || options_.barrier_everywhere || timing_) state_.pool->barrier(thread);
      run.counter = &counters_[i];
      p.runners[i]->run(run, thread);
      if (timing_ && thread == 0) {
        const auto now = std::chrono::steady_clock::now();
        seconds_[i] = std::chrono::duration<double>(now - before).count();
        before = now;
      }
    }
  };
  state_.pool->run(work);
  return {};
}

std::span<const float> CpuDevice::read(PlanHandle handle, ValueId value, uint32_t row) {
  const Plan& plan = *plans_[static_cast<size_t>(handle)].plan;
  const Placed& placed = plan.place(value);
  ENSURE(placed.storage != Storage::kInternal, "'{}' is not kept", plan.value(value).name);
  const auto* data =
      reinterpret_cast<const float*>(arena_.data() + placed.offset) + size_t{row} * placed.stride;
  return {data, plan.value(value).width};
}

}  // namespace
}  // namespace cpu

Result<std::unique_ptr<Device>> make_cpu_device(const CpuOptions& options) {
  const uint32_t threads = options.threads == 0 ? usable_cpus() : options.threads;
  if (threads > 1024) return fail("flag --threads: {} is more than 1024", threads);
  Caps caps = TRY(cpu_caps(options.isa, threads, options.k_type, options.v_type));
  const cpu::Kernels* kernels = cpu::pick_kernels(options.isa.empty() ? nullptr : options.isa.c_str());
  if (!kernels->supported())
    return fail_hint("leave --isa out to use the best tier that it has",
                     "flag --isa: this machine cannot run '{}'", kernels->name);
  return std::make_unique<cpu::CpuDevice>(options, kernels, std::move(caps));
}

}  // namespace brass
