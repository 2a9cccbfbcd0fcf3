// What makes a list of operations a graph: counts, shapes, order.
#include <algorithm>

#include "graph/graph.h"

namespace brass {
namespace {

// What an operation must be given: counts first, then shapes. Returns text of the fault, or "".
class Checker {
 public:
  Checker(const Graph& graph, const Op& op) : graph_(graph), op_(op) {}

  std::string check() {
    if (!has_its_attributes()) return "has the attributes of another operation";
    if (std::string fault = counts(); !fault.empty()) return fault;
    for (const WeightId w : op_.weights)
      if (w < 0 || static_cast<size_t>(w) >= graph_.weights.size()) return fmt::format("has no weight {}", w);
    rows();
    shapes();
    for (size_t i = 0; i < op_.weights.size(); i++) bytes(weight(i));
    return std::move(fault_);
  }

 private:
  struct Counts {
    size_t in, out, weights_min, weights_max;
    size_t in_max = 0;  // where inputs are optional
  };

  bool has_its_attributes() const {
    switch (op_.kind) {
      case OpKind::kRmsNorm:
      case OpKind::kLayerNorm:
      case OpKind::kHeadNorm:
        return std::holds_alternative<NormAttrs>(op_.attrs);
      case OpKind::kLinear:
      case OpKind::kLmHead:
        return std::holds_alternative<LinearAttrs>(op_.attrs);
      case OpKind::kHeadLinear:
        return std::holds_alternative<HeadLinearAttrs>(op_.attrs);
      case OpKind::kConcat:
        return std::holds_alternative<ConcatAttrs>(op_.attrs);
      case OpKind::kSlice:
        return std::holds_alternative<SliceAttrs>(op_.attrs);
      case OpKind::kMoeRoute:
        return std::holds_alternative<RouteAttrs>(op_.attrs);
      case OpKind::kMoeLinear:
      case OpKind::kMoeCombine:
        return std::holds_alternative<ExpertAttrs>(op_.attrs);
      case OpKind::kConv1d:
        return std::holds_alternative<ConvAttrs>(op_.attrs);
      case OpKind::kDeltaNet:
        return std::holds_alternative<DeltaAttrs>(op_.attrs);
      case OpKind::kSsmScan:
        return std::holds_alternative<SsmAttrs>(op_.attrs);
      case OpKind::kAct:
      case OpKind::kActMul:
        return std::holds_alternative<ActAttrs>(op_.attrs);
      case OpKind::kRopeTable:
        return std::holds_alternative<RopeTableAttrs>(op_.attrs);
      case OpKind::kRope:
        return std::holds_alternative<RopeAttrs>(op_.attrs);
      case OpKind::kKvWrite:
        return std::holds_alternative<KvAttrs>(op_.attrs);
      case OpKind::kAttention:
        return std::holds_alternative<AttentionAttrs>(op_.attrs);
      case OpKind::kScale:
      case OpKind::kSoftcap:
        return std::holds_alternative<ScaleAttrs>(op_.attrs);
      case OpKind::kEmbed:
        return std::holds_alternative<EmbedAttrs>(op_.attrs);
      case OpKind::kPool:
        return std::holds_alternative<PoolAttrs>(op_.attrs);
      case OpKind::kHiddenIn:
      case OpKind::kGatherRows:
      case OpKind::kAdd:
      case OpKind::kQuantAct:
        return std::holds_alternative<std::monostate>(op_.attrs);
      case OpKind::kChoose:
        return std::holds_alternative<ChooseAttrs>(op_.attrs);
    }
    return false;
  }

  std::string counts() const {
    const Counts want = wanted();
    if (op_.in.size() < want.in || op_.in.size() > std::max(want.in, want.in_max) ||
        op_.out.size() != want.out || op_.weights.size() < want.weights_min ||
        op_.weights.size() > want.weights_max)
      return fmt::format("has {} inputs, {} outputs, {} weights", op_.in.size(), op_.out.size(),
                         op_.weights.size());
    return {};
  }

  Counts wanted() const {
    switch (op_.kind) {
      case OpKind::kEmbed:
        return {0, 1, 1, 1};
      case OpKind::kRopeTable:
      case OpKind::kHiddenIn:
        return {0, 1, 0, 0};
      case OpKind::kRmsNorm:
        return {1, 1, 0, 1};
      case OpKind::kHeadNorm:
        return {1, 1, 0, 1};
      case OpKind::kLayerNorm:
        return {1, 1, 1, 2};
      case OpKind::kMoeRoute: {
        const auto& a = op_.as<RouteAttrs>();
        const size_t weights = size_t{a.selection_bias} + size_t{a.expert_scale};
        return {1, 1, weights, weights};
      }
      case OpKind::kMoeLinear: {
        const size_t weights = op_.as<ExpertAttrs>().bias ? 2 : 1;
        return {2, 1, weights, weights};
      }
      case OpKind::kMoeCombine:
        return {2, 1, 0, 0, 4};
      case OpKind::kConv1d: {
        const size_t weights = op_.as<ConvAttrs>().bias ? 2 : 1;
        return {1, 1, weights, weights};
      }
      case OpKind::kDeltaNet:
        return {3, 1, 2, 2};
      case OpKind::kSsmScan:
        return {2, 1, 3, 3};
      case OpKind::kLinear:
      case OpKind::kLmHead:
        return {1, 1, op_.as<LinearAttrs>().bias ? 2u : 1u, 2};
      case OpKind::kHeadLinear:
        return {1, 1, 1, 1};
      case OpKind::kActMul:
      case OpKind::kRope:
      case OpKind::kAdd:
      case OpKind::kConcat:
        return {2, 1, 0, 0};
      case OpKind::kKvWrite: {
        const size_t values = op_.as<KvAttrs>().v_dim == 0 ? 1 : 2;
        return {values, 0, 0, 0};
      }
      case OpKind::kAttention: {
        const size_t sinks = op_.as<AttentionAttrs>().sinks ? 1 : 0;
        return {1, 1, sinks, sinks};
      }
      case OpKind::kGatherRows:
      case OpKind::kPool:
      case OpKind::kSlice:
      case OpKind::kAct:
      case OpKind::kScale:
      case OpKind::kSoftcap:
      case OpKind::kQuantAct:
      case OpKind::kChoose:
        return {1, 1, 0, 0};
    }
    return {};
  }

  const Value& in(size_t i) const { return graph_.values[op_.in[i]]; }
  const Value& out() const { return graph_.values[op_.out[0]]; }
  const Weight& weight(size_t i) const { return graph_.weights[op_.weights[i]]; }

  void want(uint64_t found, uint64_t expected, std::string_view what) {
    if (fault_.empty() && found != expected)
      fault_ = fmt::format("{} is {}, expected {}", what, found, expected);
  }
  void want_vector(size_t i, uint32_t n) {
    const Weight& w = weight(i);
    if (fault_.empty() && (w.kind != WeightKind::kVector || w.cols != n))
      fault_ = fmt::format("tensor '{}' has {} values, expected {}", w.name, w.cols, n);
  }
  // One for each head, or one for all of them.
  void want_head_vectors(uint32_t heads) {
    at_least_one(heads, "heads");
    if (!fault_.empty()) return;
    want(in(0).width % heads, 0, "width mod heads");
    for (size_t i = 0; i < op_.weights.size(); i++)
      want_vector(i, weight(i).cols == in(0).width ? in(0).width : in(0).width / heads);
  }
  void at_least_one(uint32_t found, std::string_view what) {
    if (fault_.empty() && found == 0) fault_ = fmt::format("{} is 0, expected 1 or more", what);
  }
  void at_most(uint32_t found, uint32_t most, std::string_view what) {
    if (fault_.empty() && found > most)
      fault_ = fmt::format("{} is {}, expected at most {}", what, found, most);
  }
  void want_rows(const Value& value, Rows expected, std::string_view what) {
    const auto letter = [](Rows rows) { return rows == Rows::kT ? 'T' : 'R'; };
    if (fault_.empty() && value.rows != expected)
      fault_ = fmt::format("rows of {} are {}, expected {}", what, letter(value.rows), letter(expected));
  }
  void same_width() { want(out().width, in(0).width, "width of the output"); }

  // Rows come from the batch (T) or from what goes in; only gather_rows and pool turn T into R.
  void rows() {
    const bool gathers = op_.kind == OpKind::kGatherRows || op_.kind == OpKind::kPool;
    const Rows expected = op_.in.empty() || gathers ? Rows::kT : in(0).rows;
    for (size_t i = 0; i < op_.in.size(); i++) want_rows(in(i), expected, i == 0 ? "the input" : "an input");
    if (!op_.out.empty()) want_rows(out(), gathers ? Rows::kR : expected, "the output");
  }

  // Bytes of the tensor up to the weight's last row.
  static uint64_t end_of(const Weight& w, const Format& format) {
    if (w.kind == WeightKind::kVector && w.slice != RowSlice{})
      return (uint64_t{w.slice.row(w.cols - 1)} + 1) * format.block_bytes / format.block_values;
    return w.rows == 0 ? 0 : (uint64_t{w.slice.row(w.rows - 1)} + 1) * row_bytes(format, w.cols);
  }

  void bytes(const Weight& w) {
    const Format* format = find_format(w.type);
    if (!fault_.empty()) return;
    if (format == nullptr)
      fault_ = fmt::format("tensor '{}' is of type {}, known are {}", w.name, static_cast<uint32_t>(w.type),
                           supported_format_names());
    else if (w.cols % format->block_values != 0)
      fault_ = fmt::format("tensor '{}' has rows of {} values, not of whole {} blocks", w.name, w.cols,
                           format->name);
    else if (const uint64_t end = end_of(w, *format); graph_.weightless       ? !w.data.empty()
                                                      : w.slice == RowSlice{} ? w.data.size() != end
                                                                              : w.data.size() < end)
      fault_ = fmt::format("tensor '{}' has {} bytes, expected {}", w.name, w.data.size(), end);
  }

  void memory(uint32_t group, uint32_t layer, const KvLayer& expected) {
    if (!fault_.empty()) return;
    if (group >= graph_.groups.size()) {
      fault_ = fmt::format("there is no group {}", group);
      return;
    }
    if (layer >= graph_.groups[group].layers.size()) {
      fault_ = fmt::format("group '{}' has no layer {}", graph_.groups[group].name, layer);
      return;
    }
    const KvLayer& found = graph_.groups[group].layers[layer];
    want(found.heads, expected.heads, "heads of the layer's memory");
    want(found.k_dim, expected.k_dim, "k_dim of the layer's memory");
    want(found.v_dim, expected.v_dim, "v_dim of the layer's memory");
  }

  void state(uint32_t group, uint32_t layer, uint64_t values) {
    if (!fault_.empty()) return;
    if (group >= graph_.groups.size() || graph_.groups[group].kind != GroupKind::kState) {
      fault_ = fmt::format("there is no state group {}", group);
      return;
    }
    if (layer >= graph_.groups[group].states.size()) {
      fault_ = fmt::format("group '{}' has no layer {}", graph_.groups[group].name, layer);
      return;
    }
    want(graph_.groups[group].states[layer], values, "values of the layer's state");
  }

  void route_shapes() {
    const auto& a = op_.as<RouteAttrs>();
    want(in(0).width, a.experts, "width of the logits");
    want(out().width, 2 * a.used, "width of the route");
    at_least_one(a.used, "used experts");
    at_most(a.used, a.experts, "used experts");
    at_least_one(a.groups, "groups");
    if (!fault_.empty()) return;
    want(a.experts % a.groups, 0, "experts mod groups");
    at_least_one(a.groups_used, "used groups");
    at_most(a.groups_used, a.groups, "used groups");
    at_most(a.used, a.experts / a.groups * a.groups_used, "used experts");
    for (size_t i = 0; i < op_.weights.size(); i++) want_vector(i, a.experts);
  }
  void expert_shapes() {
    const auto& a = op_.as<ExpertAttrs>();
    at_least_one(a.used, "used experts");
    at_least_one(a.experts, "experts");
    if (!fault_.empty()) return;
    want(in(1).width, 2 * a.used, "width of the route");
    if (op_.kind == OpKind::kMoeCombine) {
      want(in(0).width, uint64_t{a.used} * out().width, "width of the slots");
      if (op_.in.size() > 2) want(in(2).width, out().width, "width of the shared expert");
      if (op_.in.size() > 3) want(in(3).width, 1, "width of the shared expert's gate");
      return;
    }
    want(out().width % a.used, 0, "width of the output mod used experts");
    want(in(0).width, uint64_t{weight(0).cols} * (a.own_input ? a.used : 1), "width of the input");
    want(weight(0).rows, uint64_t{a.experts} * (out().width / a.used),
         fmt::format("row count of '{}'", weight(0).name));
    if (a.bias) want_vector(1, weight(0).rows);
  }
  void recurrent_shapes() {
    if (op_.kind == OpKind::kConv1d) {
      const auto& a = op_.as<ConvAttrs>();
      same_width();
      at_least_one(a.taps, "taps");
      want_vector(0, in(0).width * a.taps);
      if (a.bias) want_vector(1, in(0).width);
      state(a.group, a.layer, uint64_t{in(0).width} * (a.taps - 1));
    } else if (op_.kind == OpKind::kDeltaNet) {
      const auto& a = op_.as<DeltaAttrs>();
      at_least_one(a.k_heads, "k heads");
      if (!fault_.empty()) return;
      want(a.v_heads % a.k_heads, 0, "v heads mod k heads");
      want(in(0).width, 2 * uint64_t{a.k_heads} * a.k_dim + uint64_t{a.v_heads} * a.v_dim,
           "width of q, k, v");
      want(in(1).width, a.v_heads, "width of b");
      want(in(2).width, a.v_heads, "width of a");
      want(out().width, uint64_t{a.v_heads} * a.v_dim, "width of the output");
      want_vector(0, a.v_heads);
      want_vector(1, a.v_heads);
      state(a.group, a.layer, uint64_t{a.v_heads} * a.k_dim * a.v_dim);
    } else {
      const auto& a = op_.as<SsmAttrs>();
      at_least_one(a.groups, "groups");
      if (!fault_.empty()) return;
      want(a.heads % a.groups, 0, "heads mod groups");
      want(in(0).width, uint64_t{a.heads} * a.dim + 2 * uint64_t{a.groups} * a.state, "width of x, B, C");
      want(in(1).width, a.heads, "width of dt");
      want(out().width, uint64_t{a.heads} * a.dim, "width of the output");
      for (size_t i = 0; i < 3; i++) want_vector(i, a.heads);
      state(a.group, a.layer, uint64_t{a.heads} * a.dim * a.state);
    }
  }

  void shapes() {
    switch (op_.kind) {
      case OpKind::kEmbed:
        want(weight(0).cols, out().width, fmt::format("row length of '{}'", weight(0).name));
        break;
      case OpKind::kRmsNorm:
        same_width();
        if (!op_.weights.empty()) want_vector(0, in(0).width);
        break;
      case OpKind::kHeadNorm:
      case OpKind::kLayerNorm:
        same_width();
        want_head_vectors(op_.as<NormAttrs>().heads);
        break;
      case OpKind::kMoeRoute:
        route_shapes();
        break;
      case OpKind::kMoeLinear:
      case OpKind::kMoeCombine:
        expert_shapes();
        break;
      case OpKind::kConv1d:
      case OpKind::kDeltaNet:
      case OpKind::kSsmScan:
        recurrent_shapes();
        break;
      case OpKind::kLinear:
      case OpKind::kLmHead:
        want(weight(0).cols, in(0).width, fmt::format("row length of '{}'", weight(0).name));
        want(weight(0).rows, out().width, fmt::format("row count of '{}'", weight(0).name));
        if (op_.as<LinearAttrs>().bias) want_vector(1, out().width);
        break;
      case OpKind::kHeadLinear: {
        const uint32_t heads = op_.as<HeadLinearAttrs>().heads;
        want(in(0).width, uint64_t{heads} * weight(0).cols, "width of the input");
        want(weight(0).rows, out().width, fmt::format("row count of '{}'", weight(0).name));
        at_least_one(heads, "heads");
        if (fault_.empty()) want(out().width % heads, 0, "width of the output mod heads");
        break;
      }
      case OpKind::kConcat: {
        const uint32_t heads = op_.as<ConcatAttrs>().heads;
        want(out().width, uint64_t{in(0).width} + in(1).width, "width of the output");
        at_least_one(heads, "heads");
        if (!fault_.empty()) break;
        want(in(0).width % heads, 0, "width mod heads");
        want(in(1).width % heads, 0, "width mod heads");
        break;
      }
      case OpKind::kHiddenIn:
        at_least_one(out().width, "width of the output");
        break;
      case OpKind::kSlice:
        at_most(op_.as<SliceAttrs>().begin + out().width, in(0).width, "end of the slice");
        break;
      case OpKind::kRopeTable:
        want(out().width, 2 * op_.as<RopeTableAttrs>().inv_freq.size(), "table width");
        if (!op_.as<RopeTableAttrs>().long_inv_freq.empty())
          want(out().width, 2 * op_.as<RopeTableAttrs>().long_inv_freq.size(), "width of the long table");
        break;
      case OpKind::kRope: {
        const auto& a = op_.as<RopeAttrs>();
        same_width();
        want(in(0).width, uint64_t{a.heads} * a.head_dim, "width");
        at_most(a.n_rot, a.head_dim, "n_rot");
        want(a.n_rot % 2, 0, "n_rot mod 2");
        want(in(1).width, a.n_rot, "table width");
        break;
      }
      case OpKind::kKvWrite: {
        const auto& a = op_.as<KvAttrs>();
        want(in(0).width, uint64_t{a.heads} * a.k_dim, "width of k");
        if (a.v_dim > 0) want(in(1).width, uint64_t{a.heads} * a.v_dim, "width of v");
        memory(a.group, a.layer, {a.heads, a.k_dim, a.v_dim});
        break;
      }
      case OpKind::kAttention: {
        const auto& a = op_.as<AttentionAttrs>();
        want(in(0).width, uint64_t{a.q_heads} * a.k_dim, "width of q");
        want(out().width, uint64_t{a.q_heads} * a.v_dim, "width of the output");
        at_least_one(a.kv_heads, "kv heads");
        if (!fault_.empty()) break;
        want(a.q_heads % a.kv_heads, 0, "q heads mod kv heads");
        memory(a.group, a.layer, {a.kv_heads, a.k_dim, a.v_dim});
        if (a.sinks) want_vector(0, a.q_heads);
        if (!a.causal) want(static_cast<uint64_t>(a.window), 0, "window of attention that is not causal");
        if (a.temperature != 0) at_least_one(a.temperature_length, "temperature length");
        break;
      }
      case OpKind::kActMul:
      case OpKind::kAdd:
        want(in(1).width, in(0).width, "width of the second input");
        [[fallthrough]];
      case OpKind::kAct:
      case OpKind::kGatherRows:
      case OpKind::kPool:
      case OpKind::kScale:
      case OpKind::kSoftcap:
      case OpKind::kQuantAct:
        same_width();
        break;
      case OpKind::kChoose: {
        const uint32_t candidates = op_.as<ChooseAttrs>().candidates;
        at_most(candidates, std::min(kMostCandidates, in(0).width), "candidates");
        want(out().width, candidates == 0 ? 1 : 2 * candidates, "width of the output");
        break;
      }
    }
  }

  const Graph& graph_;
  const Op& op_;
  std::string fault_;
};

}  // namespace

Result<> Graph::validate() const {
  std::vector<bool> made(values.size(), false);
  for (const Op& op : ops) {
    for (const ValueId v : op.in)
      if (v < 0 || static_cast<size_t>(v) >= values.size() || !made[v])
        return fail("{} ({}): reads a value that is not made before it", op.name, op_name(op.kind));
    for (const ValueId v : op.out) {
      if (v < 0 || static_cast<size_t>(v) >= values.size() || made[v])
        return fail("{} ({}): makes a value twice", op.name, op_name(op.kind));
      made[v] = true;
    }
    if (std::string fault = Checker(*this, op).check(); !fault.empty())
      return fail("{} ({}): {}", op.name, op_name(op.kind), fault);
  }
  if ((logits < 0) == (embeddings < 0))
    return fail("the graph makes {} logits {} embeddings", logits < 0 ? "neither" : "both",
                logits < 0 ? "nor" : "and");
  if (static_cast<size_t>(output()) >= values.size() || !made[output()])
    return fail("the graph makes no {}", logits >= 0 ? "logits" : "embeddings");
  if (hidden >= 0 && (static_cast<size_t>(hidden) >= values.size() || !made[hidden] ||
                      values[static_cast<size_t>(hidden)].rows != Rows::kT))
    return fail("the graph does not make its hidden rows, one a token");
  return {};
}

}  // namespace brass
