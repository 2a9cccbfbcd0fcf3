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
    if (std::string fault = counts(); !fault.empty()) return fault;
    shapes();
    return std::move(fault_);
  }

 private:
  struct Counts {
    size_t in, out, weights_min, weights_max;
  };

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
  void same_width() { want(out().width, in(0).width, "width of the output"); }

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
        want(in(1).width, a.n_rot, "table width");
        break;
      }
      case OpKind::kKvWrite: {
        const auto& a = op_.as<KvAttrs>();
        want(in(0).width, uint64_t{a.heads} * a.k_dim, "width of k");
        want(in(1).width, uint64_t{a.heads} * a.v_dim, "width of v");
        break;
      }
      case OpKind::kAttention: {
        const auto& a = op_.as<AttentionAttrs>();
        want(in(0).width, uint64_t{a.q_heads} * a.k_dim, "width of q");
        want(out().width, uint64_t{a.q_heads} * a.v_dim, "width of the output");
        want(a.q_heads % a.kv_heads, 0, "q heads mod kv heads");
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
  if (logits < 0 || !made[logits]) return fail("the graph makes no logits");
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
