#include "graph/graph.h"

#include <algorithm>

namespace brass {

std::string_view op_name(OpKind kind) {
  static constexpr std::string_view kNames[] = {
#define BRASS_X(id, name) name,
      BRASS_OPERATIONS(BRASS_X)
#undef BRASS_X
  };
  return kNames[static_cast<size_t>(kind)];
}

std::string_view act_name(ActKind kind) {
  static constexpr std::string_view kNames[] = {"silu", "gelu_tanh",    "gelu_erf",
                                                "relu", "relu_squared", "sigmoid"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view kv_type_name(KvType type) {
  static constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "int8"};
  return kNames[static_cast<size_t>(type)];
}

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
  };

  bool has_its_attributes() const {
    switch (op_.kind) {
      case OpKind::kRmsNorm:
      case OpKind::kHeadNorm:
        return std::holds_alternative<NormAttrs>(op_.attrs);
      case OpKind::kLinear:
      case OpKind::kLmHead:
        return std::holds_alternative<LinearAttrs>(op_.attrs);
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
      case OpKind::kGatherRows:
      case OpKind::kAdd:
      case OpKind::kQuantAct:
        return std::holds_alternative<std::monostate>(op_.attrs);
    }
    return false;
  }

  std::string counts() const {
    const Counts want = wanted();
    if (op_.in.size() != want.in || op_.out.size() != want.out || op_.weights.size() < want.weights_min ||
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
        return {0, 1, 0, 0};
      case OpKind::kRmsNorm:
        return {1, 1, 0, 1};
      case OpKind::kHeadNorm:
        return {1, 1, 1, 1};
      case OpKind::kLinear:
      case OpKind::kLmHead:
        return {1, 1, op_.as<LinearAttrs>().bias ? 2u : 1u, 2};
      case OpKind::kActMul:
      case OpKind::kRope:
      case OpKind::kAdd:
        return {2, 1, 0, 0};
      case OpKind::kKvWrite:
        return {2, 0, 0, 0};
      case OpKind::kGatherRows:
      case OpKind::kAttention:
      case OpKind::kScale:
      case OpKind::kSoftcap:
      case OpKind::kQuantAct:
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

  // Rows come from the batch (T) or from what goes in; only gather_rows turns T into R.
  void rows() {
    const bool gathers = op_.kind == OpKind::kGatherRows;
    const Rows expected = op_.in.empty() || gathers ? Rows::kT : in(0).rows;
    for (size_t i = 0; i < op_.in.size(); i++) want_rows(in(i), expected, i == 0 ? "the input" : "an input");
    if (!op_.out.empty()) want_rows(out(), gathers ? Rows::kR : expected, "the output");
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
    else if (w.bytes() != w.rows * row_bytes(*format, w.cols))
      fault_ = fmt::format("tensor '{}' has {} bytes, expected {}", w.name, w.bytes(),
                           w.rows * row_bytes(*format, w.cols));
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
        same_width();
        at_least_one(op_.as<NormAttrs>().heads, "heads");
        if (!fault_.empty()) break;
        want(in(0).width % op_.as<NormAttrs>().heads, 0, "width mod heads");
        want_vector(0, in(0).width / op_.as<NormAttrs>().heads);
        break;
      case OpKind::kLinear:
      case OpKind::kLmHead:
        want(weight(0).cols, in(0).width, fmt::format("row length of '{}'", weight(0).name));
        want(weight(0).rows, out().width, fmt::format("row count of '{}'", weight(0).name));
        if (op_.as<LinearAttrs>().bias) want_vector(1, out().width);
        break;
      case OpKind::kRopeTable:
        want(out().width, 2 * op_.as<RopeTableAttrs>().inv_freq.size(), "table width");
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
        want(in(1).width, uint64_t{a.heads} * a.v_dim, "width of v");
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
        break;
      }
      case OpKind::kActMul:
      case OpKind::kAdd:
        want(in(1).width, in(0).width, "width of the second input");
        [[fallthrough]];
      case OpKind::kGatherRows:
      case OpKind::kScale:
      case OpKind::kSoftcap:
      case OpKind::kQuantAct:
        same_width();
        break;
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
  if (logits < 0 || static_cast<size_t>(logits) >= values.size() || !made[logits])
    return fail("the graph makes no logits");
  return {};
}

uint64_t row_count(Rows rows, const Sizes& sizes) { return rows == Rows::kT ? sizes.t : sizes.r; }

Cost& Cost::operator+=(const Cost& other) {
  weight_bytes += other.weight_bytes;
  kv_read += other.kv_read;
  kv_written += other.kv_written;
  activation_bytes += other.activation_bytes;
  flops += other.flops;
  return *this;
}

uint64_t value_bytes(const Value& v, const Sizes& sizes) {
  const uint64_t rows = row_count(v.rows, sizes);
  return rows * (v.quantized ? v.width + (v.width + 31) / 32 * 8 : uint64_t{v.width} * 4);
}

namespace {

// Positions that a query at depth s + i sees, summed over the T queries of one sequence.
uint64_t seen_positions(const Sizes& sizes, int32_t window) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < sizes.t; i++) {
    const uint64_t visible = sizes.s + i + 1;
    total += window > 0 ? std::min<uint64_t>(visible, window) : visible;
  }
  return total;
}

}  // namespace

Cost op_cost(const Graph& graph, std::span<const Value> values, const Op& op, const Sizes& sizes,
             const KvBytes& kv) {
  Cost cost;
  for (const ValueId v : op.in) cost.activation_bytes += value_bytes(values[v], sizes);
  for (const ValueId v : op.out) cost.activation_bytes += value_bytes(values[v], sizes);
  uint64_t rows = op.out.empty() ? sizes.t : row_count(values[op.out[0]].rows, sizes);
  for (const WeightId w : op.weights) cost.weight_bytes += rows == 0 ? 0 : graph.weights[w].bytes();
  const uint64_t width = op.out.empty() ? 0 : values[op.out[0]].width;
  switch (op.kind) {
    case OpKind::kEmbed: {  // only the rows of the tokens
      const Weight& w = graph.weights[op.weights[0]];
      cost.weight_bytes = rows * (w.bytes() / w.rows);
      break;
    }
    case OpKind::kLinear:
    case OpKind::kLmHead: {
      const Weight& w = graph.weights[op.weights[0]];
      cost.flops = 2 * rows * w.rows * w.cols;
      break;
    }
    case OpKind::kKvWrite: {
      const auto& a = op.as<KvAttrs>();
      cost.kv_written = static_cast<uint64_t>(static_cast<double>(sizes.t) * a.heads *
                                              (a.k_dim * kv.per_k_value + a.v_dim * kv.per_v_value));
      break;
    }
    case OpKind::kAttention: {
      const auto& a = op.as<AttentionAttrs>();
      cost.flops = 2 * seen_positions(sizes, a.window) * a.q_heads * (a.k_dim + a.v_dim);
      // Read once for all the tokens of a step: what the last token sees and what the first one reaches back
      // to.
      uint64_t positions = sizes.s + sizes.t;
      if (a.window > 0)
        positions = std::min<uint64_t>(positions, static_cast<uint64_t>(a.window) + sizes.t - 1);
      cost.kv_read = sizes.t == 0
                         ? 0
                         : static_cast<uint64_t>(static_cast<double>(positions) * a.kv_heads *
                                                 (a.k_dim * kv.per_k_value + a.v_dim * kv.per_v_value));
      break;
    }
    case OpKind::kRmsNorm:
    case OpKind::kHeadNorm:
      cost.flops = 4 * rows * width;
      break;
    case OpKind::kRope:
      cost.flops = 3 * rows * width;
      break;
    case OpKind::kActMul:
      cost.flops = 6 * rows * width;
      break;
    case OpKind::kRopeTable:
      cost.flops = 20 * rows * width;
      break;
    case OpKind::kAdd:
    case OpKind::kScale:
      cost.flops = rows * width;
      break;
    case OpKind::kSoftcap:
      cost.flops = 10 * rows * width;
      break;
    case OpKind::kQuantAct:
      cost.flops = 3 * rows * width;
      break;
    case OpKind::kGatherRows:
      break;
  }
  return cost;
}

}  // namespace brass
