#include "plan/placement.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/check.h"

namespace brass {
namespace {

using MemoryKey = std::pair<uint32_t, uint32_t>;  // group, layer

// The memory that an operation touches; false: none.
bool memory_of(const Op& op, MemoryKey& key) {
  const auto take = [&](const auto& attrs) {
    key = {attrs.group, attrs.layer};
    return true;
  };
  switch (op.kind) {
    case OpKind::kKvWrite:
      return take(op.as<KvAttrs>());
    case OpKind::kAttention:
      return take(op.as<AttentionAttrs>());
    case OpKind::kConv1d:
      return take(op.as<ConvAttrs>());
    case OpKind::kDeltaNet:
      return take(op.as<DeltaAttrs>());
    case OpKind::kSsmScan:
      return take(op.as<SsmAttrs>());
    default:
      return false;
  }
}

// Made anew wherever it is read, or there before the first segment.
bool is_free(const Op& op) { return op.kind == OpKind::kRopeTable; }
bool is_given(const Op& op) { return op.kind == OpKind::kHiddenIn; }

bool is_element_wise(OpKind kind) {
  return kind == OpKind::kAct || kind == OpKind::kActMul || kind == OpKind::kScale || kind == OpKind::kAdd;
}

// Experts' products, what is done to their results value by value, and their sum: a token's parts for all the slots
// stay on one device.
void place_experts(const Graph& graph, uint32_t blocks, std::vector<DeviceIndex>& devices) {
  std::vector<bool> of_experts(graph.values.size(), false);
  for (size_t i = 0; i < graph.ops.size(); i++) {
    const Op& op = graph.ops[i];
    const bool reads =
        std::ranges::any_of(op.in, [&](ValueId v) { return of_experts[static_cast<size_t>(v)]; });
    const bool product = op.kind == OpKind::kMoeLinear && std::cmp_less(op.layer, blocks);
    if (!product && !(reads && (is_element_wise(op.kind) || op.kind == OpKind::kMoeCombine))) continue;
    devices[i] = 1;
    if (op.kind != OpKind::kMoeCombine) of_experts[static_cast<size_t>(op.out[0])] = true;
  }
}

// Attention goes to whoever writes the memory that it reads.
void place_memory(const Graph& graph, std::vector<DeviceIndex>& devices) {
  std::map<MemoryKey, DeviceIndex> writers;
  MemoryKey key;
  for (size_t i = 0; i < graph.ops.size(); i++)
    if (graph.ops[i].kind != OpKind::kAttention && memory_of(graph.ops[i], key)) writers[key] = devices[i];
  for (size_t i = 0; i < graph.ops.size(); i++) {
    if (graph.ops[i].kind != OpKind::kAttention) continue;
    memory_of(graph.ops[i], key);
    if (const auto writer = writers.find(key); writer != writers.end()) devices[i] = writer->second;
  }
}

// ---- order

// What must be done before an operation: whoever made what it reads, and who touched its memory before.
std::vector<std::vector<uint32_t>> dependencies(const Graph& graph) {
  std::vector<std::vector<uint32_t>> before(graph.ops.size());
  std::vector<int64_t> maker(graph.values.size(), -1);
  std::map<MemoryKey, uint32_t> touched;
  for (uint32_t i = 0; i < graph.ops.size(); i++) {
    const Op& op = graph.ops[i];
    for (const ValueId v : op.in) before[i].push_back(static_cast<uint32_t>(maker[static_cast<size_t>(v)]));
    for (const ValueId v : op.out) maker[static_cast<size_t>(v)] = i;
    MemoryKey key;
    if (!memory_of(op, key)) continue;
    if (const auto last = touched.find(key); last != touched.end()) before[i].push_back(last->second);
    touched[key] = i;
  }
  return before;
}

bool makes_wanted_rows(const Graph& graph, const Op& op) {
  return std::ranges::any_of(
      op.out, [&](ValueId v) { return graph.values[static_cast<size_t>(v)].rows == Rows::kR; });
}

// Runs of operations of one device: as long as something can be done where the last one was done, it is. Those of the
// rows whose output is wanted come last, so that none of these rows goes from one run to another.
std::vector<std::vector<uint32_t>> runs_of(const Graph& graph, std::span<const DeviceIndex> devices) {
  const std::vector<std::vector<uint32_t>> before = dependencies(graph);
  std::vector<bool> done(graph.ops.size(), false);
  std::vector<uint32_t> left, last;
  for (uint32_t i = 0; i < graph.ops.size(); i++) {
    done[i] = is_free(graph.ops[i]) || is_given(graph.ops[i]);
    if (!done[i]) (makes_wanted_rows(graph, graph.ops[i]) ? last : left).push_back(i);
  }
  std::vector<std::vector<uint32_t>> runs;
  while (!left.empty()) {
    const DeviceIndex device = devices[left.front()];  // the earliest one is always ready
    std::vector<uint32_t>& run = runs.emplace_back();
    std::vector<uint32_t> later;
    for (const uint32_t i : left) {  // in order, so one pass sees what it makes ready itself
      done[i] = devices[i] == device && std::ranges::all_of(before[i], [&](uint32_t b) { return done[b]; });
      (done[i] ? run : later).push_back(i);
    }
    left = std::move(later);
  }
  if (last.empty()) return runs;
  if (runs.empty() || devices[runs.back().front()] != devices[last.front()]) runs.emplace_back();
  runs.back().insert(runs.back().end(), last.begin(), last.end());
  return runs;
}

// ---- segments

// One segment's graph under construction: values are numbered anew, as they come up.
class Cutter {
 public:
  Cutter(const Graph& whole, std::span<const DeviceIndex> devices)
      : whole_(whole),
        runs_(runs_of(whole, devices)),
        maker_(whole.values.size()),
        made_in_(whole.values.size(), -1) {
    for (uint32_t i = 0; i < whole.ops.size(); i++)
      for (const ValueId v : whole.ops[i].out) maker_[static_cast<size_t>(v)] = i;
    for (size_t s = 0; s < runs_.size(); s++)
      for (const uint32_t i : runs_[s])
        for (const ValueId v : whole.ops[i].out) made_in_[static_cast<size_t>(v)] = static_cast<int32_t>(s);
    find_wires();
    for (size_t s = 0; s < runs_.size(); s++) add_segment(s, devices[runs_[s].front()]);
    if (whole.hidden >= 0) all_.hidden = wire(whole.hidden);
  }
  Segments take() { return std::move(all_); }

 private:
  const Op& maker(ValueId v) const { return whole_.ops[maker_[static_cast<size_t>(v)]]; }
  bool from_batch(ValueId v) const { return is_given(maker(v)); }
  const Value& value(ValueId v) const { return whole_.values[static_cast<size_t>(v)]; }

  // What each segment reads of others, in order, and what each leaves.
  void find_wires() {
    in_.resize(runs_.size());
    out_.resize(runs_.size());
    const auto leave = [&](ValueId v) {
      ENSURE(value(v).rows == Rows::kT, "'{}' would go between devices, a row for each wanted one",
             value(v).name);
      std::vector<ValueId>& out = out_[static_cast<size_t>(made_in_[static_cast<size_t>(v)])];
      if (std::ranges::count(out, v) == 0) out.push_back(v);
    };
    for (size_t s = 0; s < runs_.size(); s++) {
      for (const uint32_t i : runs_[s]) {
        for (const ValueId v : whole_.ops[i].in) {
          const bool own = made_in_[static_cast<size_t>(v)] == static_cast<int32_t>(s);
          if (own || is_free(maker(v)) || std::ranges::count(in_[s], v) > 0) continue;
          in_[s].push_back(v);
          if (!from_batch(v)) leave(v);
        }
      }
    }
    if (whole_.hidden >= 0) leave(whole_.hidden);
  }

  Wire wire(ValueId v) const {
    if (from_batch(v)) return {Wire::kBatch, 0, value(v).width};
    const int32_t from = made_in_[static_cast<size_t>(v)];
    Wire w{from, 0, value(v).width};
    for (const ValueId other : out_[static_cast<size_t>(from)]) {
      if (other == v) break;
      w.column += value(other).width;
    }
    return w;
  }

  void add_segment(size_t s, DeviceIndex device) {
    Graph g{.architecture = whole_.architecture,
            .part = whole_.part,
            .values = {},
            .weights = whole_.weights,
            .ops = {},
            .groups = whole_.groups,
            .weightless = whole_.weightless};
    std::map<ValueId, ValueId> known;
    GraphSegment segment{.device = device, .graph = nullptr, .in = {}};
    for (const ValueId v : in_[s]) segment.in.push_back(wire(v));
    take_wires(g, s, known);
    for (const uint32_t i : runs_[s]) put(g, whole_.ops[i], known);
    if (!out_[s].empty()) g.hidden = leave_wires(g, s, known);
    const auto here = [&](ValueId v) {
      return v >= 0 && made_in_[static_cast<size_t>(v)] == static_cast<int32_t>(s);
    };
    if (here(whole_.logits)) g.logits = known.at(whole_.logits);
    if (here(whole_.embeddings)) g.embeddings = known.at(whole_.embeddings);
    if (here(whole_.output())) all_.output = static_cast<uint32_t>(s);
    segment.graph = std::make_shared<const Graph>(std::move(g));
    all_.list.push_back(std::move(segment));
  }

  static ValueId add_value(Graph& g, Value v) {
    g.values.push_back(std::move(v));
    return static_cast<ValueId>(g.values.size() - 1);
  }

  // The operation with the segment's own numbers; before it, what is made anew for it.
  void put(Graph& g, const Op& op, std::map<ValueId, ValueId>& known) {
    for (const ValueId v : op.in)
      if (!known.contains(v) && is_free(maker(v))) put(g, maker(v), known);
    Op own = op;
    for (ValueId& v : own.in) v = known.at(v);
    for (ValueId& v : own.out) {
      const ValueId id = add_value(g, value(v));
      known[v] = id;
      v = id;
    }
    g.ops.push_back(std::move(own));
  }

  void take_wires(Graph& g, size_t s, std::map<ValueId, ValueId>& known) {
    uint32_t width = 0;
    for (const ValueId v : in_[s]) width += value(v).width;
    if (width == 0) return;
    const bool single = in_[s].size() == 1;
    const ValueId all =
        add_value(g, {.name = single ? value(in_[s][0]).name : "received", .rows = Rows::kT, .width = width});
    g.ops.push_back(
        {.kind = OpKind::kHiddenIn, .name = "receive", .in = {}, .out = {all}, .weights = {}, .attrs = {}});
    if (single) {
      known[in_[s][0]] = all;
      return;
    }
    uint32_t begin = 0;
    for (const ValueId v : in_[s]) {
      known[v] = add_value(g, value(v));
      g.ops.push_back({.kind = OpKind::kSlice,
                       .name = "receive." + value(v).name,
                       .in = {all},
                       .out = {known[v]},
                       .weights = {},
                       .attrs = SliceAttrs{begin}});
      begin += value(v).width;
    }
  }

  ValueId leave_wires(Graph& g, size_t s, const std::map<ValueId, ValueId>& known) {
    ValueId all = known.at(out_[s][0]);
    for (size_t i = 1; i < out_[s].size(); i++) {
      const ValueId next = known.at(out_[s][i]);
      const uint32_t width =
          g.values[static_cast<size_t>(all)].width + g.values[static_cast<size_t>(next)].width;
      const ValueId both = add_value(g, {.name = "sent", .rows = Rows::kT, .width = width});
      g.ops.push_back({.kind = OpKind::kConcat,
                       .name = "send",
                       .in = {all, next},
                       .out = {both},
                       .weights = {},
                       .attrs = ConcatAttrs{1}});
      all = both;
    }
    return all;
  }

  const Graph& whole_;
  std::vector<std::vector<uint32_t>> runs_;
  std::vector<uint32_t> maker_;                 // [value] its operation
  std::vector<int32_t> made_in_;                // [value] its segment; −1: in none, free or given
  std::vector<std::vector<ValueId>> in_, out_;  // [segment]
  Segments all_;
};

}  // namespace

std::vector<DeviceIndex> place_operations(const Graph& graph, const Placement& placement) {
  std::vector<DeviceIndex> devices(graph.ops.size(), 0);
  const auto of_layer = [&](int32_t layer) -> DeviceIndex {
    return layer >= 0 && static_cast<uint32_t>(layer) < placement.first_layers ? 1 : 0;
  };
  // Before the first block: with it. Behind the last one: device 0.
  const auto first = std::ranges::find_if(graph.ops, [](const Op& op) { return op.layer >= 0; });
  for (size_t i = 0; i < graph.ops.size(); i++) {
    const bool before = std::cmp_less(i, first - graph.ops.begin());
    devices[i] = of_layer(before && first != graph.ops.end() ? first->layer : graph.ops[i].layer);
  }
  place_experts(graph, placement.first_experts, devices);
  place_memory(graph, devices);
  for (size_t i = 0; i < graph.ops.size(); i++)
    if (makes_wanted_rows(graph, graph.ops[i])) devices[i] = 0;
  return devices;
}

Segments cut(const Graph& graph, std::span<const DeviceIndex> devices) {
  ENSURE(devices.size() == graph.ops.size(), "{} devices for {} operations", devices.size(),
         graph.ops.size());
  return Cutter(graph, devices).take();
}

std::vector<MemoryGroup> groups_within(std::span<const Graph* const> graphs) {
  std::set<MemoryKey> touched;
  MemoryKey key;
  for (const Graph* graph : graphs)
    for (const Op& op : graph->ops)
      if (memory_of(op, key)) touched.insert(key);
  std::vector<MemoryGroup> groups = graphs.front()->groups;
  for (uint32_t g = 0; g < groups.size(); g++) {
    for (uint32_t l = 0; l < groups[g].layers.size(); l++)
      if (!touched.contains({g, l})) groups[g].layers[l].heads = 0;
    for (uint32_t l = 0; l < groups[g].states.size(); l++)
      if (!touched.contains({g, l})) groups[g].states[l] = 0;
  }
  return groups;
}

}  // namespace brass
