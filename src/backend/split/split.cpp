#include "backend/split/split.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"

namespace brass {
namespace {

constexpr size_t kDevices = 2;

struct Cut {
  Segments segments;
  std::shared_ptr<const Graph> graph;  // keeps the key alive, where nobody else does
};

struct Prepared {
  std::shared_ptr<const Plan> plan;
  const Segments* segments;
  std::vector<PlanHandle> handles;           // [segment], −1: nothing to do
  std::vector<std::vector<float>> received;  // [segment] rows that it reads
  std::vector<std::vector<float>> left;      // [segment] rows that it leaves
};

uint32_t width_of(const GraphSegment& segment) {
  uint32_t width = 0;
  for (const Wire& wire : segment.in) width += wire.width;
  return width;
}

uint32_t hidden_width(const Graph& graph) {
  return graph.hidden < 0 ? 0 : graph.values[static_cast<size_t>(graph.hidden)].width;
}

class SplitDevice final : public Device {
 public:
  SplitDevice(std::shared_ptr<Device> first, std::shared_ptr<Device> second, const Placement& placement)
      : devices_{std::move(first), std::move(second)}, placement_(placement), caps_(devices_[0]->caps()) {
    const Caps& other = devices_[1]->caps();
    caps_.name = fmt::format("{} + {}", caps_.name, other.name);
    caps_.rules.insert(other.rules.begin(), other.rules.end());
    caps_.operations.erase(OpKind::kChoose);  // which of them has the logits is the placement's matter
    caps_.runs_ahead = false;
    ENSURE(!other.own_memory, "{} as the second device", other.name);
  }

  const Caps& caps() const override { return caps_; }
  std::string describe() const override {
    return fmt::format("{} + {}", devices_[0]->describe(), devices_[1]->describe());
  }
  Result<std::shared_ptr<const Plan>> compile(std::shared_ptr<const Graph> graph, PlanKey key,
                                              std::span<const std::string> without) override;

  Result<> upload(std::span<const Graph* const> graphs, const Progress& progress,
                  const std::function<void(const Weight&)>& release) override;
  Result<> allocate(const Graph& graph, std::span<const PoolSpec> pools) override;
  uint64_t page_bytes(const MemoryGroup& group, KvType k_type, KvType v_type) const override;

  Result<MemoryNeed> memory_need(const MemoryUse& use) const override;
  Result<> reserve(const MemoryUse& use) override;
  uint64_t memory_taken() const override { return devices_[0]->memory_taken(); }

  Result<PlanHandle> prepare(std::shared_ptr<const Plan> plan) override;
  Result<> run(PlanHandle handle, const Batch& batch) override;
  std::span<const float> read(PlanHandle handle, ValueId value, uint32_t row) override;

  void copy_page(uint32_t group, PageId from, PageId to) override {
    for (const auto& device : devices_) device->copy_page(group, from, to);
  }
  void copy_part(uint32_t group, PageId from, PageId to, uint32_t positions) override {
    for (const auto& device : devices_) device->copy_part(group, from, to, positions);
  }
  std::vector<float> export_page(uint32_t group, PageId page) const override;
  void import_page(uint32_t group, PageId page, std::span<const float> rows) override;

  void set_timing(bool on) override {
    for (const auto& device : devices_) device->set_timing(on);
  }
  std::span<const double> step_seconds() const override { return seconds_; }

 private:
  const Segments& segments_of(const Graph& graph, std::shared_ptr<const Graph> keep = nullptr) const;
  // fn(what is asked of the first device).
  template <class Fn>
  auto with_first(const MemoryUse& use, const Fn& fn) const;
  // fn(device, values) of each layer of a group, in canonical order.
  template <class Fn>
  void each_layer(uint32_t group, const Fn& fn) const;
  void receive(Prepared& p, size_t segment, const Batch& batch);
  void leave(Prepared& p, size_t segment, size_t rows);

  std::array<std::shared_ptr<Device>, kDevices> devices_;
  Placement placement_;
  Caps caps_;
  mutable std::map<const Graph*, Cut> cuts_;               // made when a graph is first seen
  std::array<std::vector<MemoryGroup>, kDevices> groups_;  // with what each device keeps of them
  std::vector<Prepared> plans_;
  std::vector<double> seconds_;
};

const Segments& SplitDevice::segments_of(const Graph& graph, std::shared_ptr<const Graph> keep) const {
  const auto found = cuts_.find(&graph);
  if (found != cuts_.end()) return found->second.segments;
  Cut made{cut(graph, place_operations(graph, placement_)), std::move(keep)};
  return cuts_.emplace(&graph, std::move(made)).first->second.segments;
}

// ---- weights and memory

Result<> SplitDevice::upload(std::span<const Graph* const> graphs, const Progress& progress,
                             const std::function<void(const Weight&)>& release) {
  std::array<std::vector<const Graph*>, kDevices> parts;
  cuts_.clear();
  for (const Graph* graph : graphs)
    for (const GraphSegment& segment : segments_of(*graph).list)
      parts[segment.device].push_back(segment.graph.get());
  std::array<std::vector<bool>, kDevices> used;
  std::array<uint64_t, kDevices> bytes{};
  const std::vector<Weight>& weights = graphs.front()->weights;
  for (size_t d = 0; d < kDevices; d++) {
    if (parts[d].empty())
      return fail_hint("place something on each device, or use one alone",
                       "no part of the model is left for {}", devices_[d]->describe());
    used[d] = used_weights(parts[d]);
    for (size_t w = 0; w < weights.size(); w++) bytes[d] += used[d][w] ? weights[w].bytes() : 0;
    groups_[d] = groups_within(parts[d]);
  }
  for (size_t d = 0; d < kDevices; d++) {
    const Progress shared = [&](uint64_t done, uint64_t) {
      if (progress) progress(done + (d == 0 ? 0 : bytes[0]), bytes[0] + bytes[1]);
    };
    TRY_VOID(devices_[d]->upload(parts[d], shared, [&](const Weight& w) {
      const auto index = static_cast<size_t>(&w - parts[d].front()->weights.data());
      if (release && !(d == 0 && used[1][index])) release(w);
    }));
  }
  return {};
}

Result<> SplitDevice::allocate(const Graph& graph, std::span<const PoolSpec> pools) {
  for (size_t d = 0; d < kDevices; d++) {
    Graph own = graph;
    own.groups = groups_[d];
    TRY_VOID(devices_[d]->allocate(own, pools));
  }
  return {};
}

uint64_t SplitDevice::page_bytes(const MemoryGroup& group, KvType k_type, KvType v_type) const {
  uint64_t bytes = 0;
  for (size_t d = 0; d < kDevices; d++) {
    const auto own = std::ranges::find(groups_[d], group.name, &MemoryGroup::name);
    ENSURE(own != groups_[d].end(), "group '{}' before upload", group.name);
    bytes += devices_[d]->page_bytes(*own, k_type, v_type);
  }
  return bytes;
}

template <class Fn>
void SplitDevice::each_layer(uint32_t group, const Fn& fn) const {
  for (size_t l = 0; l < groups_[0][group].layers.size(); l++)
    for (size_t d = 0; d < kDevices; d++) {
      const KvLayer& layer = groups_[d][group].layers[l];
      fn(d, size_t{kPageTokens} * layer.heads * (layer.k_dim + layer.v_dim));
    }
  for (size_t l = 0; l < groups_[0][group].states.size(); l++)
    for (size_t d = 0; d < kDevices; d++) fn(d, size_t{groups_[d][group].states[l]});
}

std::vector<float> SplitDevice::export_page(uint32_t group, PageId page) const {
  std::array<std::vector<float>, kDevices> own;
  std::array<size_t, kDevices> at{};
  for (size_t d = 0; d < kDevices; d++) own[d] = devices_[d]->export_page(group, page);
  std::vector<float> rows;
  each_layer(group, [&](size_t d, size_t values) {
    rows.insert(rows.end(), own[d].begin() + static_cast<ptrdiff_t>(at[d]),
                own[d].begin() + static_cast<ptrdiff_t>(at[d] + values));
    at[d] += values;
  });
  return rows;
}

void SplitDevice::import_page(uint32_t group, PageId page, std::span<const float> rows) {
  std::array<std::vector<float>, kDevices> own;
  size_t at = 0;
  each_layer(group, [&](size_t d, size_t values) {
    const std::span<const float> part = rows.subspan(at, values);
    own[d].insert(own[d].end(), part.begin(), part.end());
    at += values;
  });
  ENSURE(at == rows.size(), "{} values for a page of {}", rows.size(), at);
  for (size_t d = 0; d < kDevices; d++) devices_[d]->import_page(group, page, own[d]);
}

template <class Fn>
auto SplitDevice::with_first(const MemoryUse& use, const Fn& fn) const {
  std::vector<const Graph*> graphs;
  std::vector<std::shared_ptr<const Plan>> plans;
  for (const Graph* graph : use.graphs)
    for (const GraphSegment& segment : segments_of(*graph).list)
      if (segment.device == 0) graphs.push_back(segment.graph.get());
  for (const auto& plan : use.plans) {
    const Segments& segments = segments_of(*plan->source);
    for (size_t s = 0; s < segments.list.size(); s++)
      if (segments.list[s].device == 0) plans.push_back(plan->segments[s]);
  }
  Graph first = graphs.empty() ? *use.graphs.front() : *graphs.front();
  if (graphs.empty()) {
    first.ops.clear();
    graphs.push_back(&first);
  }
  first.groups = groups_within(graphs);
  graphs.front() = &first;
  MemoryUse own = use;
  own.graphs = graphs;
  own.plans = plans;
  return fn(own);
}

Result<MemoryNeed> SplitDevice::memory_need(const MemoryUse& use) const {
  return with_first(use, [&](const MemoryUse& own) { return devices_[0]->memory_need(own); });
}
Result<> SplitDevice::reserve(const MemoryUse& use) {
  return with_first(use, [&](const MemoryUse& own) { return devices_[0]->reserve(own); });
}

// ---- plans

Result<std::shared_ptr<const Plan>> SplitDevice::compile(std::shared_ptr<const Graph> graph, PlanKey key,
                                                         std::span<const std::string> without) {
  const Segments& segments = segments_of(*graph, graph);
  auto plan = std::make_shared<Plan>();
  plan->key = key;
  plan->caps = caps_;
  plan->groups = graph->touched_groups();
  plan->source = std::move(graph);
  for (size_t s = 0; s < segments.list.size(); s++) {
    const GraphSegment& segment = segments.list[s];
    const PlanKey own{key.t, s == segments.output ? key.r : 0, segment.graph->hidden >= 0};
    plan->segments.push_back(TRY(devices_[segment.device]->compile(segment.graph, own, without)));
    plan->arena_bytes += plan->segments.back()->arena_bytes;
  }
  return plan;
}

Result<PlanHandle> SplitDevice::prepare(std::shared_ptr<const Plan> plan) {
  Prepared p{
      .plan = plan, .segments = &segments_of(*plan->source), .handles = {}, .received = {}, .left = {}};
  for (size_t s = 0; s < p.segments->list.size(); s++) {
    const GraphSegment& segment = p.segments->list[s];
    const bool idle = plan->segments[s]->steps.empty();
    p.handles.push_back(idle ? -1 : TRY(devices_[segment.device]->prepare(plan->segments[s])));
    p.received.emplace_back(size_t{plan->key.t} * width_of(segment));
    p.left.emplace_back(size_t{plan->key.t} * hidden_width(*segment.graph));
    ENSURE(s <= p.segments->output || idle || segment.device != p.segments->list[p.segments->output].device,
           "a device works on behind the output");
  }
  plans_.push_back(std::move(p));
  return static_cast<PlanHandle>(plans_.size() - 1);
}

// The rows that a segment reads, side by side.
void SplitDevice::receive(Prepared& p, size_t segment, const Batch& batch) {
  const GraphSegment& reader = p.segments->list[segment];
  const size_t width = width_of(reader);
  size_t column = 0;
  for (const Wire& wire : reader.in) {
    const bool given = wire.from == Wire::kBatch;
    const std::span<const float> source = given ? batch.hidden : p.left[static_cast<size_t>(wire.from)];
    const size_t stride =
        given ? wire.width : hidden_width(*p.segments->list[static_cast<size_t>(wire.from)].graph);
    for (size_t t = 0; t < batch.ids.size(); t++)
      std::ranges::copy(source.subspan(t * stride + wire.column, wire.width),
                        p.received[segment].begin() + static_cast<ptrdiff_t>(t * width + column));
    column += wire.width;
  }
}

// At once, for the device's next plan may use the same memory.
void SplitDevice::leave(Prepared& p, size_t segment, size_t rows) {
  const GraphSegment& made = p.segments->list[segment];
  const size_t width = hidden_width(*made.graph);
  if (width == 0) return;
  for (uint32_t t = 0; t < rows; t++)
    std::ranges::copy(devices_[made.device]->read(p.handles[segment], made.graph->hidden, t),
                      p.left[segment].begin() + static_cast<ptrdiff_t>(t * width));
}

Result<> SplitDevice::run(PlanHandle handle, const Batch& batch) {
  Prepared& p = plans_[static_cast<size_t>(handle)];
  seconds_.clear();
  for (size_t s = 0; s < p.handles.size(); s++) {
    if (p.handles[s] < 0) continue;
    Device& device = *devices_[p.segments->list[s].device];
    receive(p, s, batch);
    Batch own = batch;
    own.hidden = std::span(p.received[s]).first(batch.ids.size() * width_of(p.segments->list[s]));
    if (s != p.segments->output) own.rows = {};
    TRY_VOID(device.run(p.handles[s], own));
    leave(p, s, batch.ids.size());
    const std::span<const double> seconds = device.step_seconds();
    seconds_.insert(seconds_.end(), seconds.begin(), seconds.end());
  }
  return {};
}

std::span<const float> SplitDevice::read(PlanHandle handle, ValueId value, uint32_t row) {
  const Prepared& p = plans_[static_cast<size_t>(handle)];
  const Segments& all = *p.segments;
  if (value == p.plan->source->hidden) {
    const auto from = static_cast<size_t>(all.hidden.from);
    const size_t width = hidden_width(*all.list[from].graph);
    return std::span(p.left[from]).subspan(row * width + all.hidden.column, all.hidden.width);
  }
  ENSURE(value == p.plan->source->output(), "value {} is not kept", value);
  const GraphSegment& last = all.list[all.output];
  return devices_[last.device]->read(p.handles[all.output], last.graph->output(), row);
}

}  // namespace

std::unique_ptr<Device> make_split_device(std::shared_ptr<Device> first, std::shared_ptr<Device> second,
                                          const Placement& placement) {
  return std::make_unique<SplitDevice>(std::move(first), std::move(second), placement);
}

}  // namespace brass
