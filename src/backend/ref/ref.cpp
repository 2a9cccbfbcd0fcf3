#include "backend/ref/ref.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "backend/ref/operations.h"
#include "base/check.h"

namespace brass {
namespace {

using namespace ref;

Caps ref_caps() {
  Caps caps;
  caps.name = "ref";
#define BRASS_X(id, name) caps.operations.insert(OpKind::id);
  BRASS_OPERATIONS(BRASS_X)
#undef BRASS_X
  for (const Format* format : all_formats()) caps.matrix_types.insert(format->type);
  return caps;
}

class RefDevice final : public Device {
 public:
  explicit RefDevice(const RefOptions& options)
      : options_(options), caps_(ref_caps()), workers_(std::max(options.threads, 1u)), loops_(pick_loops()) {
    scratch_.floats.resize(workers_.count());
    scratch_.doubles.resize(workers_.count());
  }

  const Caps& caps() const override { return caps_; }
  std::string describe() const override {
    return fmt::format("ref {}, {} thread{}", loops_.name, workers_.count(),
                       workers_.count() == 1 ? "" : "s");
  }

  Result<> upload(std::span<const Graph* const> graphs, const Progress& progress,
                  const std::function<void(const Weight&)>&) override {
    const Graph& graph = *graphs.front();
    ENSURE(!graph.weightless, "{}", graph.architecture);
    weights_.clear();
    uint64_t total = 0, done = 0;
    for (const Weight& w : graph.weights) total += w.bytes();
    for (const Weight& w : graph.weights) {
      weights_.push_back(TRY(within(fmt::format("tensor '{}'", w.name), load(w))));
      done += w.bytes();
      if (progress) progress(done, total);
    }
    return {};
  }

  Result<> allocate(const Graph& graph, std::span<const PoolSpec> pools) override {
    ENSURE(pools.size() == graph.groups.size(), "{} pools for {} groups", pools.size(), graph.groups.size());
    pools_.clear();
    for (size_t g = 0; g < pools.size(); g++) pools_.emplace_back(graph.groups[g], pools[g].pages);
    return {};
  }

  uint64_t page_bytes(const MemoryGroup& group, KvType, KvType) const override {
    return KvPool(group, 0).page_values() * sizeof(float);
  }

  Result<PlanHandle> prepare(std::shared_ptr<const Plan> plan) override {
    const std::vector<Weight>& weights = plan->source->weights;
    ENSURE(weights.size() == weights_.size(), "a plan of {} weights, {} uploaded", weights.size(),
           weights_.size());
    for (size_t w = 0; w < weights.size(); w++)
      ENSURE(weights[w].data.data() == weights_[w].data, "'{}' is not the one uploaded", weights[w].name);
    plans_.emplace_back(std::move(plan));
    return static_cast<PlanHandle>(plans_.size() - 1);
  }

  Result<> run(PlanHandle handle, const Batch& batch) override {
    const Prepared& prepared = plan(handle);
    check_batch(prepared.plan(), batch);
    const Run context{prepared, batch, weights_, pools_, workers_, loops_, scratch_};
    seconds_.clear();
    for (const Step& step : prepared.plan().steps) {
      const auto start = std::chrono::steady_clock::now();
      for (const uint32_t o : step.ops) run_op(context, prepared.plan().ops[o]);
      if (timing_)
        seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    if (options_.check_source) TRY_VOID(options_.check_source());
    return {};
  }

  std::span<const float> read(PlanHandle handle, ValueId value, uint32_t row) override {
    const Prepared& prepared = plan(handle);
    const Placed& placed = prepared.plan().place(value);
    const Value& v = prepared.plan().value(value);
    ENSURE(
        placed.storage != Storage::kInternal && placed.last >= prepared.plan().steps.size() && !v.quantized(),
        "'{}' does not live to the end of the plan", v.name);
    ENSURE(row < (v.rows == Rows::kT ? prepared.plan().key.t : prepared.plan().key.r), "row {} of '{}'", row,
           v.name);
    return {prepared.row(value, row), v.width};
  }

  void copy_page(uint32_t group, PageId from, PageId to) override { pool(group).copy(from, to, kPageTokens); }
  void copy_part(uint32_t group, PageId from, PageId to, uint32_t positions) override {
    pool(group).copy(from, to, positions);
  }
  std::vector<float> export_page(uint32_t group, PageId page) const override {
    ENSURE(group < pools_.size(), "group {} of {}", group, pools_.size());
    return pools_[group].export_page(page);
  }
  void import_page(uint32_t group, PageId page, std::span<const float> rows) override {
    pool(group).import_page(page, rows);
  }

  void set_timing(bool on) override { timing_ = on; }
  std::span<const double> step_seconds() const override { return seconds_; }

 private:
  KvPool& pool(uint32_t group) {
    ENSURE(group < pools_.size(), "group {} of {}", group, pools_.size());
    return pools_[group];
  }
  const Prepared& plan(PlanHandle handle) const {
    ENSURE(handle >= 0 && static_cast<size_t>(handle) < plans_.size(), "plan {} of {}", handle,
           plans_.size());
    return plans_[static_cast<size_t>(handle)];
  }

  Result<LoadedWeight> load(const Weight& w) {
    const Format* format = find_format(w.type);
    if (format == nullptr)
      return fail("type {} cannot be read as numbers (known: {})", static_cast<uint32_t>(w.type),
                  supported_format_names());
    if (w.kind == WeightKind::kVector) {
      if (options_.check_finite && format->find_non_finite(w.data.data(), values_of(w, *format)) >= 0)
        return fail_hint(kDamaged, "holds a value that is not a finite number");
      return LoadedWeight{format, w.rows, w.cols, w.data.data(), w.slice, vector_values(w)};
    }
    ENSURE(w.cols % format->block_values == 0, "'{}' has rows of {} {}", w.name, w.cols, format->name);
    if (options_.check_finite) TRY_VOID(check_finite(w, *format));
    return LoadedWeight{format, w.rows, w.cols, w.data.data(), w.slice, {}};
  }

  // Rows are shared out; the first bad one by number is named whatever the threads do.
  Result<> check_finite(const Weight& w, const Format& format) {
    constexpr uint32_t kRows = 64;
    const size_t row_size = row_bytes(format, w.cols);
    std::atomic<uint32_t> bad = w.rows;
    workers_.run((w.rows + kRows - 1) / kRows, [&](uint32_t item, uint32_t) {
      for (uint32_t row = item * kRows; row < std::min(w.rows, (item + 1) * kRows); row++) {
        if (format.find_non_finite(w.data.data() + w.slice.row(row) * row_size, w.cols) < 0) continue;
        for (uint32_t first = bad; row < first && !bad.compare_exchange_weak(first, row);) {
        }
        return;
      }
    });
    if (bad == w.rows) return {};
    return fail_hint(kDamaged, "row {} holds a value that is not a finite number", bad.load());
  }

  void check_batch(const Plan& plan, const Batch& batch) const {
    ENSURE(batch.ids.size() <= plan.key.t && batch.rows.size() <= plan.key.r,
           "{} tokens and {} rows in a plan for {}, {}", batch.ids.size(), batch.rows.size(), plan.key.t,
           plan.key.r);
    ENSURE(batch.positions.size() == batch.ids.size() && batch.sequences.size() == batch.ids.size(),
           "{} ids, {} positions, {} sequences", batch.ids.size(), batch.positions.size(),
           batch.sequences.size());
    ENSURE(pools_.size() == plan.source->groups.size(), "{} pools for {} groups", pools_.size(),
           plan.source->groups.size());
    for (size_t t = 0; t < batch.ids.size(); t++) {
      if (batch.sequences[t] < 0) continue;
      ENSURE(batch.positions[t] >= 0, "position {}", batch.positions[t]);
      ENSURE((static_cast<size_t>(batch.sequences[t]) + 1) * pools_.size() <= batch.page_tables.size(),
             "sequence {} with {} page tables", batch.sequences[t], batch.page_tables.size());
    }
    for (const Op& op : plan.ops)
      ENSURE(op.kind != OpKind::kHiddenIn ||
                 batch.hidden.size() == batch.ids.size() * plan.value(op.out[0]).width,
             "{} hidden values for {} rows", batch.hidden.size(), batch.ids.size());
    ENSURE(batch.snapshots.empty() || batch.snapshots.size() == batch.ids.size(), "{} snapshots for {} rows",
           batch.snapshots.size(), batch.ids.size());
    for (const int32_t row : batch.rows)
      ENSURE(row >= 0 && static_cast<size_t>(row) < batch.ids.size(), "row {} of {}", row, batch.ids.size());
  }

  static constexpr const char* kDamaged = "the file is damaged, or its conversion went wrong: get it again";
  static size_t values_of(const Weight& w, const Format& format) {
    return w.data.size() / format.block_bytes * format.block_values;
  }

  RefOptions options_;
  Caps caps_;
  Workers workers_;
  const Loops& loops_;
  Scratch scratch_;
  std::vector<LoadedWeight> weights_;
  std::vector<KvPool> pools_;
  std::vector<Prepared> plans_;
  bool timing_ = false;
  std::vector<double> seconds_;
};

}  // namespace

std::unique_ptr<Device> make_ref_device(const RefOptions& options) {
  return std::make_unique<RefDevice>(options);
}

}  // namespace brass
