// What operations cost: bytes and flops.
#include <algorithm>
#include <cmath>

#include "graph/graph.h"

namespace brass {

double kv_value_bytes(KvType type) {
  switch (type) {
    case KvType::kF32:
      return 4;
    case KvType::kF16:
    case KvType::kBF16:
      return 2;
    case KvType::kInt8:
      return 1 + 4.0 / 32;
  }
  return 0;
}

double expected_experts(uint32_t experts, uint32_t used, uint64_t t) {
  return experts * (1 - std::pow(1 - static_cast<double>(used) / experts, static_cast<double>(t)));
}

uint64_t row_count(Rows rows, const Sizes& sizes) { return rows == Rows::kT ? sizes.t : sizes.r; }

Cost& Cost::operator+=(const Cost& other) {
  weight_bytes += other.weight_bytes;
  kv_read += other.kv_read;
  kv_written += other.kv_written;
  state_bytes += other.state_bytes;
  activation_bytes += other.activation_bytes;
  flops += other.flops;
  return *this;
}

uint64_t value_bytes(const Value& v, const Sizes& sizes) {
  const uint64_t rows = row_count(v.rows, sizes), width = v.width;
  return rows * (v.quantized() ? v.int8_terms * width + (width + 31) / 32 * 8 : width * 4);
}

namespace {

// Positions that a query at depth s + i sees, summed over the T queries of one sequence.
uint64_t seen_positions(const Sizes& sizes, const AttentionAttrs& a) {
  if (!a.causal) return sizes.t * (sizes.s + sizes.t);
  uint64_t total = 0;
  for (uint64_t i = 0; i < sizes.t; i++) {
    const uint64_t visible = sizes.s + i + 1;
    total += a.window > 0 ? std::min<uint64_t>(visible, a.window) : visible;
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
      const bool one = op.as<EmbedAttrs>().index == EmbedIndex::kFirst;
      cost.weight_bytes = (one ? std::min<uint64_t>(rows, 1) : rows) * (w.bytes() / w.rows);
      break;
    }
    case OpKind::kPool:
      cost.flops = op.as<PoolAttrs>().kind == PoolKind::kMean ? sizes.t * width : 0;
      break;
    case OpKind::kLinear:
    case OpKind::kLmHead: {
      const Weight& w = graph.weights[op.weights[0]];
      cost.flops = 2 * rows * w.rows * w.cols;
      break;
    }
    case OpKind::kHeadLinear:
      cost.flops = 2 * rows * width * graph.weights[op.weights[0]].cols;
      break;
    case OpKind::kKvWrite: {
      const auto& a = op.as<KvAttrs>();
      cost.kv_written = static_cast<uint64_t>(static_cast<double>(sizes.t) * a.heads *
                                              (a.k_dim * kv.per_k_value + a.v_dim * kv.per_v_value));
      break;
    }
    case OpKind::kAttention: {
      const auto& a = op.as<AttentionAttrs>();
      cost.flops = 2 * seen_positions(sizes, a) * a.q_heads * (a.k_dim + a.v_dim);
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
    case OpKind::kMoeLinear: {
      const Weight& w = graph.weights[op.weights[0]];
      const auto& a = op.as<ExpertAttrs>();
      cost.flops = 2 * rows * width * w.cols;
      uint64_t all = 0;  // bytes of matrix and bias
      for (const WeightId id : op.weights) all += graph.weights[id].bytes();
      cost.weight_bytes = static_cast<uint64_t>(
          std::llround(static_cast<double>(all) / a.experts * expected_experts(a.experts, a.used, rows)));
      break;
    }
    case OpKind::kMoeRoute:
      cost.flops = 8 * rows * op.as<RouteAttrs>().experts;
      break;
    case OpKind::kMoeCombine:
      cost.flops = 2 * rows * width * op.as<ExpertAttrs>().used;
      break;
    case OpKind::kConv1d: {
      const auto& a = op.as<ConvAttrs>();
      cost.flops = 2 * rows * width * a.taps;
      cost.state_bytes = rows == 0 ? 0 : 2 * sizeof(float) * width * (a.taps - 1);
      break;
    }
    case OpKind::kDeltaNet: {
      const auto& a = op.as<DeltaAttrs>();
      const uint64_t state = uint64_t{a.v_heads} * a.k_dim * a.v_dim;
      cost.flops = 7 * rows * state;  // decay 1, Sᵀk 2, k dᵀ 2, Sᵀq 2
      cost.state_bytes = rows == 0 ? 0 : 2 * sizeof(float) * state;
      break;
    }
    case OpKind::kSsmScan: {
      const auto& a = op.as<SsmAttrs>();
      const uint64_t state = uint64_t{a.heads} * a.dim * a.state;
      cost.flops = 5 * rows * state;  // decay 1, x Bᵀ 2, S C 2
      cost.state_bytes = rows == 0 ? 0 : 2 * sizeof(float) * state;
      break;
    }
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
    case OpKind::kHeadNorm:
      cost.flops = 4 * rows * width;
      break;
    case OpKind::kRope:
      cost.flops = 3 * rows * width;
      break;
    case OpKind::kAct:
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
      cost.flops = 3 * rows * width * values[op.out[0]].int8_terms;
      break;
    case OpKind::kChoose:
      cost.flops = rows * values[op.in[0]].width;
      break;
    case OpKind::kHiddenIn:
    case OpKind::kGatherRows:
    case OpKind::kConcat:
    case OpKind::kSlice:
      break;
  }
  return cost;
}

}  // namespace brass
