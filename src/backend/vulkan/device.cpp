// The Device: plans prepared, batches run.
#include <volk.h>

#include <algorithm>
#include <deque>

#include "backend/vulkan/batch_check.h"
#include "backend/vulkan/device_probe.h"
#include "backend/vulkan/dots.h"
#include "backend/vulkan/lower_plan.h"
#include "backend/vulkan/overlap.h"
#include "backend/vulkan/scratch.h"
#include "base/check.h"

namespace brass {

using namespace vulkan;

namespace {

// Commands for a slot's buffers.
struct Recorded {
  VkCommandBuffer commands = VK_NULL_HANDLE;
  std::vector<uint64_t> made_for;  // empty: nothing
};

// What commands are recorded from, besides the plan.
struct StepData {
  BatchLayout layout;
  uint32_t t, r;   // rows of the batch
  uint32_t pages;  // that attention of few rows goes over
};

// A plan, and its commands.
struct Prepared {
  std::shared_ptr<const Plan> plan;
  uint64_t counters = 0;                   // bytes of overlap.h's, before its values
  std::map<ValueId, uint64_t> results_at;  // of values that live to the end, in bytes
  std::array<Recorded, Context::kSlots> slots = {};
};

class VulkanDevice final : public Device {
 public:
  // Fails where the device does not run a first program.
  static Result<std::unique_ptr<VulkanDevice>> make(const VulkanOptions& options) {
    auto device = std::make_unique<VulkanDevice>(TRY(Context::open(options)), options);
    const VulkanInfo& info = device->context_->info();
    MatrixUnit unit = TRY(probe_matrix_unit(*device->context_, device->programs_, options.piece_bytes));
    if (options.prompts == Prompts::kMatrix && !unit.there())
      return fail_hint("--prompt-products dots, plain and auto work on every device",
                       "{} has no matrix unit that Brass can use", info.name);
    device->units_ = {.matrix = unit, .dots = uses_dots(info, unit, options.prompts)};
    return device;
  }

  VulkanDevice(std::unique_ptr<Context> context, const VulkanOptions& options)
      : context_(std::move(context)),
        options_(options),
        caps_(vulkan_caps(context_->info().name, options.k_type, options.v_type)),
        programs_(*context_, options.cache_folder) {
    // A cache may keep what a place held before: programs that wait inside do not empty it, as barriers do.
    if (options.overlap) caps_.own_place_rows = kFewRows;
  }

  ~VulkanDevice() override {
    (void)drain();
    if (queries_ != VK_NULL_HANDLE) vkDestroyQueryPool(context_->device(), queries_, nullptr);
  }

  const Caps& caps() const override { return caps_; }
  std::string describe() const override {
    return fmt::format("vulkan, {}, {}", context_->info().name,
                       units_.matrix.there() ? "with its matrix unit"
                       : units_.dots         ? "no matrix unit in use, prompts by packed dot products of int8"
                                             : "no matrix unit in use");
  }

  Result<> upload(std::span<const Graph* const> graphs, const Progress& progress,
                  const std::function<void(const Weight&)>& release) override {
    TRY_VOID(weights_.upload(*context_, graphs, options_.check_finite, progress, release));
    return options_.check_source ? options_.check_source() : Result<>{};
  }

  Result<> allocate(const Graph& graph, std::span<const PoolSpec> pools) override {
    ENSURE(pools.size() == graph.groups.size(), "{} pools for {} groups", pools.size(), graph.groups.size());
    TRY_VOID(drain());
    generation_++;
    pools_.clear();
    for (size_t g = 0; g < pools.size(); g++) {
      pools_.emplace_back(graph.groups[g], pools[g].k_type, pools[g].v_type);
      TRY_VOID(pools_.back().allocate(*context_, pools[g].pages, most_of_a_buffer()));
    }
    return {};
  }

  uint64_t page_bytes(const MemoryGroup& group, KvType k_type, KvType v_type) const override {
    return PagePool(group, k_type, v_type).page_bytes();
  }

  Result<MemoryNeed> memory_need(const MemoryUse& use) const override;
  Result<> reserve(const MemoryUse& use) override { return make_room(scratch_of(use)); }
  uint64_t memory_taken() const override { return context_->taken(); }

  Result<PlanHandle> prepare(std::shared_ptr<const Plan> plan) override;
  Result<> run(PlanHandle handle, const Batch& batch) override {
    ENSURE(TRY(begin(handle, batch, false)), "a step that follows none can begin");
    return finish();
  }
  Result<bool> begin(PlanHandle handle, const Batch& batch, bool follows) override;
  Result<> finish() override;

  std::span<const float> read(PlanHandle handle, ValueId value, uint32_t row) override {
    ENSURE(handle == last_, "plan {} is read, and plan {} has run since", handle, last_);
    const Prepared& p = prepared(handle);
    const auto at = p.results_at.find(value);
    ENSURE(at != p.results_at.end(), "'{}' does not live to the end of the plan", p.plan->value(value).name);
    ENSURE(row < rows_of(*p.plan, value), "row {} of '{}'", row, p.plan->value(value).name);
    const auto* values = reinterpret_cast<const float*>(scratch_.results(last_slot_).mapped() + at->second);
    return {values + size_t{row} * p.plan->place(value).stride, p.plan->value(value).width};
  }

  void copy_page(uint32_t group, PageId from, PageId to) override {
    must(pool(group).copy(*context_, from, to));
  }
  void copy_part(uint32_t group, PageId from, PageId to, uint32_t) override {
    must(pool(group).copy(*context_, from, to));
  }
  std::vector<float> export_page(uint32_t group, PageId page) const override {
    ENSURE(group < pools_.size(), "group {} of {}", group, pools_.size());
    Result<std::vector<float>> rows = pools_[group].export_page(*context_, page);
    ENSURE(rows.has_value(), "{}", rows.error().message);
    return std::move(*rows);
  }
  void import_page(uint32_t group, PageId page, std::span<const float> rows) override {
    must(pool(group).import_page(*context_, page, rows));
  }

  void set_timing(bool on) override { timing_ = on; }
  std::span<const double> step_seconds() const override { return seconds_; }
  Result<DeviceProbe> probe() override { return probe_rates(*context_, programs_, units_); }

 private:
  static uint32_t rows_of(const Plan& plan, ValueId v) {
    return plan.value(v).rows == Rows::kT ? plan.key.t : plan.key.r;
  }
  // Copies between pages cannot fail in a way that the caller could mend; the next run says what is lost.
  void must(Result<> result) {
    if (!result && lost_.message.empty()) lost_ = std::move(result.error());
  }
  PagePool& pool(uint32_t group) {
    ENSURE(group < pools_.size(), "group {} of {}", group, pools_.size());
    return pools_[group];
  }
  // That pages may be in.
  uint64_t most_of_a_buffer() const {
    const uint64_t most = context_->largest_buffer();
    return options_.page_buffer_bytes > 0 ? std::min(options_.page_buffer_bytes, most) : most;
  }
  Prepared& prepared(PlanHandle handle) {
    ENSURE(handle >= 0 && static_cast<size_t>(handle) < plans_.size(), "plan {} of {}", handle,
           plans_.size());
    return plans_[static_cast<size_t>(handle)];
  }
  ScratchBytes scratch_of(const MemoryUse& use) const;
  Result<> make_room(const ScratchBytes& bytes);
  ScratchBytes room_of(const Prepared& p, const StepData& step, uint32_t slot) const;
  void send(const BatchLayout& layout, uint32_t slot, bool without_ids);
  // Whether programs of this plan wait inside.
  bool overlaps(const Prepared& p) const {
    return p.counters > 0 && !waited_in_vain_ && !timing_ && !options_.barrier_everywhere;
  }
  Result<Lowered> lower_steps(const Prepared& p, const StepData& step, uint32_t slot);
  void record(uint32_t slot, const Prepared& p, const Lowered& lowered) const;
  Result<> record_for(Prepared& p, const StepData& step, uint32_t slot);
  Result<> start(Prepared& p, const StepData& step, uint32_t slot);
  uint32_t& fault_word(const Prepared& p, uint32_t slot) const {
    return *reinterpret_cast<uint32_t*>(scratch_.results(slot).mapped() + result_bytes(*p.plan));
  }
  Result<> drain();
  Result<> make_queries(uint32_t n);
  Result<> read_times(size_t steps);

  std::unique_ptr<Context> context_;
  VulkanOptions options_;
  Caps caps_;
  Programs programs_;
  PromptUnits units_;
  Scratch scratch_;
  Weights weights_;
  std::vector<PagePool> pools_;
  std::deque<Prepared> plans_;
  PlanHandle last_ = -1;  // that has run
  uint32_t last_slot_ = 0;
  struct UnderWay {
    PlanHandle plan;
    uint32_t slot;
    bool follows, timed, overlapped;
    StepData step;
  };
  Result<> wait_for(const UnderWay& step);
  void keep_ids(UnderWay& step) const;
  Result<> run_again(const UnderWay& failed);
  std::deque<UnderWay> under_way_;  // oldest first
  Error lost_;
  uint64_t generation_ = 0;      // of what commands name besides their plan: pages, queries
  bool waited_in_vain_ = false;  // a program, for those before it: barriers from then on
  bool timing_ = false;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  uint32_t query_count_ = 0;
  std::vector<double> seconds_;
};

// ---- memory, plans

ScratchBytes VulkanDevice::scratch_of(const MemoryUse& use) const {
  const StepSizes sizes{.sequences = use.sequences,
                        .groups = static_cast<uint32_t>(use.pools.size()),
                        .pages = (use.positions + kPageTokens - 1) / kPageTokens,
                        .overlap = options_.overlap};
  ScratchBytes most;
  for (const auto& plan : use.plans) most = most | scratch_bytes(*plan, units_, programs_.lanes(), sizes);
  return most;
}

Result<MemoryNeed> VulkanDevice::memory_need(const MemoryUse& use) const {
  const auto taken = [&](uint64_t bytes) {
    return bytes == 0 ? uint64_t{0} : context_->allocation_bytes(bytes);
  };
  uint64_t weights = 0, pages = 0, scratch = 0, seen = taken(Context::staging_bytes());
  const WeightLayout layout = TRY(lay_out_weights(use.graphs));
  for (const uint64_t bytes : layout.chunks) weights += taken(bytes);
  for (size_t g = 0; g < use.pools.size(); g++) {
    const PoolSpec& pool = use.pools[g];
    const PagePool outline(use.graphs.front()->groups[g], pool.k_type, pool.v_type);
    for (const uint64_t bytes : outline.buffer_bytes(pool.pages, most_of_a_buffer())) pages += taken(bytes);
  }
  each_scratch(scratch_of(use), [&](std::string_view, uint64_t bytes, Memory memory) {
    (context_->is_own(memory) && memory != Memory::kRead ? scratch : seen) += taken(bytes);
  });
  return MemoryNeed{.parts = {{"weights", weights},
                              {"keys, values and states", pages},
                              {"what steps compute in", scratch},
                              {"what the CPU exchanges", seen, !context_->is_own(Memory::kRead)}},
                    .available = context_->available()};
}

Result<> VulkanDevice::make_room(const ScratchBytes& bytes) {
  if (scratch_.holds(bytes)) return {};
  TRY_VOID(drain());
  if (TRY(scratch_.grow(*context_, bytes))) generation_++, last_ = -1;
  return {};
}

Result<PlanHandle> VulkanDevice::prepare(std::shared_ptr<const Plan> plan) {
  ENSURE(plan->source->weights.size() == weights_.size(), "a plan of {} weights, {} uploaded",
         plan->source->weights.size(), weights_.size());
  Prepared p{.plan = std::move(plan)};
  p.results_at = result_places(*p.plan);
  p.counters = options_.overlap ? counter_bytes(*p.plan) : 0;
  TRY_VOID(make_room(scratch_bytes(*p.plan, units_, programs_.lanes(), {.overlap = options_.overlap})));
  plans_.push_back(std::move(p));
  return static_cast<PlanHandle>(plans_.size() - 1);
}

// ---- run

// `without_ids`: those are the device's to write, or written already.
void VulkanDevice::send(const BatchLayout& layout, uint32_t slot, bool without_ids) {
  const auto copy = [&](size_t begin, size_t end) {
    std::memcpy(scratch_.batch(slot).mapped() + 4 * begin, layout.data.data() + begin, 4 * (end - begin));
  };
  copy(0, without_ids ? layout.ids : layout.data.size());
  if (without_ids) copy(layout.rows, layout.data.size());
}

Result<Lowered> VulkanDevice::lower_steps(const Prepared& p, const StepData& step, uint32_t slot) {
  PromptUse use;
  const uint32_t choose = p.plan->key.choose;
  const Target target{
      .plan = *p.plan,
      .weights = weights_,
      .pools = pools_,
      .programs = programs_,
      .arena = scratch_.values().address() + p.counters,
      .batch = scratch_.batch(slot).address(),
      .layout = step.layout,
      .units = units_,
      .memory = scratch_.prompt(),
      .use = use,
      .t = step.t,
      .r = step.r,
      .choices = choose > 0 ? scratch_.results(slot).address() + p.results_at.at(p.plan->choice) : 0,
      .next_ids = choose == 1 ? scratch_.batch(1 - slot).address() + uint64_t{4} * step.layout.ids : 0,
      .partial = scratch_.partial().address(),
      .pages = step.pages,
      .counters = overlaps(p) ? scratch_.values().address() : 0,
      .faulty_wait = options_.faults.wait};
  return lower_plan(target);
}

void VulkanDevice::record(uint32_t slot, const Prepared& p, const Lowered& lowered) const {
  VkCommandBuffer commands = p.slots[slot].commands;
  const auto stamp = [&](size_t i) {
    if (timing_ && queries_ != VK_NULL_HANDLE)
      vkCmdWriteTimestamp2(commands, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries_,
                           static_cast<uint32_t>(i));
  };
  if (options_.poison) {
    for (const Buffer* buffer : scratch_.written())
      if (buffer->bytes() > 0) vkCmdFillBuffer(commands, buffer->handle(), 0, VK_WHOLE_SIZE, 0xffffffff);
    full_barrier(commands);
  }
  if (timing_ && queries_ != VK_NULL_HANDLE) vkCmdResetQueryPool(commands, queries_, 0, query_count_);
  if (!lowered.counts.empty())
    set_counters(commands, scratch_.values(), lowered.counts,
                 scratch_.results(slot).address() + result_bytes(*p.plan));
  if (options_.dispatches != nullptr)
    for (const uint32_t count : lowered.counts) (*options_.dispatches)["(waits)"] += count > 0 ? 1 : 0;
  stamp(0);
  for (size_t i = 0; i < lowered.steps.size(); i++) {
    bool first = true;
    for (const Dispatch& d : lowered.steps[i]) {
      if (d.barrier || (first && (options_.barrier_everywhere || timing_))) program_barrier(commands);
      first = false;
      if (options_.dispatches != nullptr) (*options_.dispatches)[d.program]++;
      dispatch(commands, programs_.layout(), d);
    }
    stamp(i + 1);
  }
  full_barrier(commands);
  for (const auto& [v, at] : p.results_at) {
    if (v == p.plan->choice) continue;  // written there at once
    const Placed& placed = p.plan->place(v);
    const VkBufferCopy region{.srcOffset = p.counters + placed.offset, .dstOffset = at, .size = placed.bytes};
    vkCmdCopyBuffer(commands, scratch_.values().handle(), scratch_.results(slot).handle(), 1, &region);
  }
  full_barrier(commands);
}

// What a batch takes besides what its plan does, with room for later ones where it is more than there is.
ScratchBytes VulkanDevice::room_of(const Prepared& p, const StepData& step, uint32_t slot) const {
  ScratchBytes room;
  const uint64_t bytes = step.layout.data.size() * 4;
  if (bytes > scratch_.batch(slot).bytes()) (slot == 0 ? room.batch : room.batch_ahead) = 2 * bytes;
  if (p.plan->key.choose == 1 && bytes > scratch_.batch(1 - slot).bytes())
    (slot == 1 ? room.batch : room.batch_ahead) = 2 * bytes;
  const uint64_t partial = partial_bytes(*p.plan, step.pages, programs_.lanes());
  if (partial > scratch_.partial().bytes()) room.partial = partial + partial / 2;
  return room;
}

// Commands are recorded once for all batches of one layout: what differs is data.
Result<> VulkanDevice::record_for(Prepared& p, const StepData& step, uint32_t slot) {
  Recorded& recorded = p.slots[slot];
  std::vector<uint64_t> wanted = {step.t,      step.r,     timing_ ? 1u : 0u,
                                  generation_, step.pages, overlaps(p) ? 1u : 0u};
  for (const uint32_t part : step.layout.key()) wanted.push_back(part);
  if (wanted == recorded.made_for) return {};
  recorded.made_for.clear();
  const Lowered lowered = TRY(lower_steps(p, step, slot));
  if (timing_) TRY_VOID(make_queries(static_cast<uint32_t>(lowered.steps.size() + 1)));
  if (recorded.commands == VK_NULL_HANDLE) recorded.commands = TRY(context_->make_commands());
  TRY_VOID(context_->record(recorded.commands, [&](VkCommandBuffer) { record(slot, p, lowered); }));
  wanted[3] = generation_;
  recorded.made_for = std::move(wanted);
  return {};
}

Result<> VulkanDevice::start(Prepared& p, const StepData& step, uint32_t slot) {
  TRY_VOID(within(context_->info().name, record_for(p, step, slot)));
  if (overlaps(p)) fault_word(p, slot) = 0;
  if (Result<> started = within(context_->info().name, context_->start(p.slots[slot].commands, slot));
      !started) {
    lost_ = started.error();
    return started;
  }
  return {};
}

Result<bool> VulkanDevice::begin(PlanHandle handle, const Batch& batch, bool follows) {
  if (!lost_.message.empty()) return std::unexpected(lost_);
  Prepared& p = prepared(handle);
  check_batch(*p.plan, batch, pools_);
  ENSURE(!follows || (p.plan->key.choose == 1 && !under_way_.empty() && under_way_.back().plan == handle &&
                      under_way_.size() < Context::kSlots),
         "a step that follows none");
  ENSURE(!follows || p.plan->value(p.plan->source->logits).width <= table_rows(*p.plan, EmbedIndex::kToken),
         "more logits than tokens");
  StepData step{.layout = lay_out(batch, pools_),
                .t = static_cast<uint32_t>(batch.ids.size()),
                .r = static_cast<uint32_t>(batch.rows.size()),
                .pages = p.plan->key.t <= kFewRows ? pages_reached(batch) : 0};
  const uint32_t slot = follows ? 1 - under_way_.back().slot : 0;
  const ScratchBytes room = room_of(p, step, slot);
  if (follows && (timing_ || !scratch_.holds(room))) return false;
  if (!follows) TRY_VOID(drain());
  TRY_VOID(within(context_->info().name, make_room(room)));
  if (follows) keep_ids(under_way_.back());
  send(step.layout, slot, follows);
  TRY_VOID(start(p, step, slot));
  under_way_.push_back({handle, slot, follows, timing_, overlaps(p), std::move(step)});
  return true;
}

// What the step behind it chooses goes where the ids of this one are: they are the choices of the last run, if it followed it.
void VulkanDevice::keep_ids(UnderWay& step) const {
  if (!step.follows || !step.overlapped) return;
  const Prepared& p = plans_[static_cast<size_t>(step.plan)];
  const std::byte* choices = scratch_.results(last_slot_).mapped() + p.results_at.at(p.plan->choice);
  for (uint32_t t = 0; t < step.step.t; t++) {
    const float chosen = reinterpret_cast<const float*>(choices)[t * p.plan->place(p.plan->choice).stride];
    step.step.layout.data[step.step.layout.ids + t] = static_cast<int32_t>(std::max(chosen, 0.0f));
  }
}

Result<> VulkanDevice::wait_for(const UnderWay& step) {
  Result<> ended = within(context_->info().name, context_->wait(step.slot));
  if (!ended) lost_ = ended.error();
  return ended;
}

Result<> VulkanDevice::finish() {
  if (!lost_.message.empty()) return std::unexpected(lost_);
  ENSURE(!under_way_.empty(), "no step is under way");
  const UnderWay step = std::move(under_way_.front());
  under_way_.pop_front();
  TRY_VOID(wait_for(step));
  if (step.overlapped && fault_word(prepared(step.plan), step.slot) != 0) TRY_VOID(run_again(step));
  last_ = step.plan;
  last_slot_ = step.slot;
  seconds_.clear();
  return step.timed ? read_times(prepared(step.plan).plan->steps.size()) : Result<>{};
}

// With barriers, as everything from now on: a step in which a program has waited in vain, and what was begun behind it and
// has computed with what that made. Keys and values are written again; a state that was read must still be there.
Result<> VulkanDevice::run_again(const UnderWay& failed) {
  if (!waited_in_vain_)
    fmt::print(stderr,
               "brass: {}: programs do not start in order here: barriers stand between them from now on\n",
               context_->info().name);
  waited_in_vain_ = true;
  for (const UnderWay& step : under_way_) TRY_VOID(wait_for(step));
  const bool only_appends =
      std::ranges::none_of(prepared(failed.plan).plan->source->groups,
                           [](const MemoryGroup& g) { return g.kind != GroupKind::kKv; });
  if (!can_run_again(failed.step.layout, failed.step.t) || (!under_way_.empty() && !only_appends)) {
    lost_ = fail_hint("start again without --overlap",
                      "{}: a program waited in vain for those before it, and the states "
                      "that the step has read are gone",
                      context_->info().name)
                .error();
    return std::unexpected(lost_);
  }
  send(failed.step.layout, failed.slot, false);
  TRY_VOID(start(prepared(failed.plan), failed.step, failed.slot));
  for (UnderWay& step : under_way_) {
    TRY_VOID(start(prepared(step.plan), step.step, step.slot));
    step.overlapped = false;
  }
  return wait_for(failed);
}

// Waits for what nobody asks for any more. The last run is still the last.
Result<> VulkanDevice::drain() {
  for (; !under_way_.empty(); under_way_.pop_front()) {
    if (!lost_.message.empty()) return std::unexpected(lost_);
    TRY_VOID(wait_for(under_way_.front()));
  }
  return {};
}

// ---- timing

Result<> VulkanDevice::make_queries(uint32_t n) {
  if (n <= query_count_ || context_->nanoseconds_a_tick() == 0) return {};
  if (queries_ != VK_NULL_HANDLE) vkDestroyQueryPool(context_->device(), queries_, nullptr);
  queries_ = VK_NULL_HANDLE;
  const VkQueryPoolCreateInfo create{.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                     .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                     .queryCount = n};
  VK_TRY(vkCreateQueryPool, context_->device(), &create, nullptr, &queries_);
  query_count_ = n;
  generation_++;
  return {};
}

Result<> VulkanDevice::read_times(size_t steps) {
  if (queries_ == VK_NULL_HANDLE) return {};
  std::vector<uint64_t> ticks(steps + 1);
  VK_TRY(vkGetQueryPoolResults, context_->device(), queries_, 0, static_cast<uint32_t>(ticks.size()),
         ticks.size() * 8, ticks.data(), 8, VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  for (size_t i = 0; i < steps; i++)
    seconds_.push_back(static_cast<double>(ticks[i + 1] - ticks[i]) * context_->nanoseconds_a_tick() * 1e-9);
  return {};
}

}  // namespace

Result<std::unique_ptr<Device>> make_vulkan_device(const VulkanOptions& options) {
  return TRY(VulkanDevice::make(options));
}

}  // namespace brass
