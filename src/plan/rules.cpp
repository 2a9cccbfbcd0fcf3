#include "plan/rules.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "plan/rules_support.h"

namespace brass {
namespace rules {

bool makes(const Plan& plan, const Step& step, ValueId v) {
  return std::ranges::any_of(step.ops,
                             [&](uint32_t o) { return std::ranges::count(plan.ops[o].out, v) > 0; });
}
bool reads(const Plan& plan, const Step& step, ValueId v) {
  return std::ranges::any_of(step.ops, [&](uint32_t o) { return std::ranges::count(plan.ops[o].in, v) > 0; });
}

namespace {
bool touches_memory(const Plan& plan, const Step& step) {
  return std::ranges::any_of(step.ops, [&](uint32_t o) {
    return plan.ops[o].kind == OpKind::kKvWrite || plan.ops[o].kind == OpKind::kAttention;
  });
}

}  // namespace

bool depends(const Plan& plan, const Step& later, const Step& earlier) {
  for (const uint32_t o : earlier.ops)
    for (const ValueId v : plan.ops[o].out)
      if (reads(plan, later, v)) return true;
  return touches_memory(plan, later) && touches_memory(plan, earlier);
}

bool can_move_up(const Plan& plan, size_t i, size_t j) {
  for (size_t k = i + 1; k < j; k++)
    if (depends(plan, plan.steps[j], plan.steps[k])) return false;
  return true;
}

void merge(Plan& plan, size_t i, size_t j, std::string_view rule) {
  Step &into = plan.steps[i], &from = plan.steps[j];
  into.ops.insert(into.ops.end(), from.ops.begin(), from.ops.end());
  into.rule = rule;
  from = Step{};
}

size_t maker(const Plan& plan, ValueId v) {
  for (size_t i = 0; i < plan.steps.size(); i++)
    if (makes(plan, plan.steps[i], v)) return i;
  ENSURE(false, "value {} is never made", v);
}

std::vector<ValueId> origins(const Plan& plan) {
  std::vector<ValueId> origin(plan.values.size());
  std::iota(origin.begin(), origin.end(), 0);
  for (const Op& op : plan.ops)
    if (op.kind == OpKind::kQuantAct) origin[static_cast<size_t>(op.out[0])] = op.in[0];
  return origin;
}

std::vector<uint32_t> reader_counts(const Plan& plan) {
  std::vector<uint32_t> readers(plan.values.size(), 0);
  for (const ValueId v : plan.outputs()) readers[static_cast<size_t>(v)]++;
  for (const Op& op : plan.ops)
    for (const ValueId v : op.in) readers[static_cast<size_t>(v)]++;
  return readers;
}

bool may_join(const Plan& plan, const Op& product) {
  return plan.caps.joins_any_product || plan.value(product.in[0]).quantized();
}

namespace {

bool has_bias(const Op& product) {
  if (const auto* a = std::get_if<ExpertAttrs>(&product.attrs)) return a->bias;
  return product.as<LinearAttrs>().bias;
}

// Whether the device can make both in one kernel.
bool are_alike(const Plan& plan, const Op& gate, const Op& up) {
  if (plan.caps.joins_any_product) return true;
  const Weight &a = plan.weight(gate.weights[0]), &b = plan.weight(up.weights[0]);
  return may_join(plan, gate) && may_join(plan, up) && a.type == b.type && a.slice.run == b.slice.run &&
         a.slice.stride == b.slice.stride && has_bias(gate) == has_bias(up);
}

}  // namespace

void join_glu(Plan& plan, OpKind product, std::string_view rule) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  const std::vector<ValueId> origin = origins(plan);
  const auto same = [&](ValueId a, ValueId b) {
    return origin[static_cast<size_t>(a)] == origin[static_cast<size_t>(b)];
  };
  for (size_t a = 0; a < plan.steps.size(); a++) {
    if (!is_single(plan, plan.steps[a], OpKind::kActMul)) continue;
    const Op& act = first_op(plan, plan.steps[a]);
    const size_t gate = maker(plan, act.in[0]);
    const size_t up = maker(plan, act.in[1]);
    if (!is_single(plan, plan.steps[gate], product) || !is_single(plan, plan.steps[up], product) ||
        gate >= up || readers[static_cast<size_t>(act.in[0])] != 1 ||
        readers[static_cast<size_t>(act.in[1])] != 1)
      continue;
    const Op &one = first_op(plan, plan.steps[gate]), &two = first_op(plan, plan.steps[up]);
    if (!same(one.in[0], two.in[0]) || !are_alike(plan, one, two) || !can_move_up(plan, gate, up)) continue;
    if (product == OpKind::kMoeLinear && one.in[1] != two.in[1]) continue;  // other experts
    merge(plan, gate, up, rule);
    ENSURE(can_move_up(plan, gate, a), "an activation depends on its two products only");
    merge(plan, gate, a, rule);
  }
}

void quantize_behind(Plan& plan, std::string_view from, std::string_view rule) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i + 1 < plan.steps.size(); i++) {
    if (plan.steps[i].rule != from) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      if (!is_single(plan, plan.steps[j], OpKind::kQuantAct)) continue;
      const ValueId v = first_op(plan, plan.steps[j]).in[0];
      if (last_op(plan, plan.steps[i]).out.empty() || last_op(plan, plan.steps[i]).out[0] != v) continue;
      if (readers[static_cast<size_t>(v)] == 1) merge(plan, i, j, rule);
      break;
    }
  }
}

}  // namespace rules

namespace {

using namespace rules;

// gate, up, activation · product. Both products read the same value.
void glu(Plan& plan) { join_glu(plan, OpKind::kLinear, "glu"); }
void glu_quant(Plan& plan) { quantize_behind(plan, "glu", "glu_quant"); }
void attention_quant(Plan& plan) { quantize_behind(plan, "attention", "attention_quant"); }

// Products of the same value as one step (formats may differ).
void same_input(Plan& plan) {
  const std::vector<ValueId> origin = origins(plan);
  const auto input = [&](const Step& s) { return origin[static_cast<size_t>(first_op(plan, s).in[0])]; };
  const auto is_open = [&](const Step& s) {
    return (s.rule == "linear" || s.rule == "same_input") && may_join(plan, first_op(plan, s));
  };
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_open(plan.steps[i])) continue;
    const ValueId x = input(plan.steps[i]);
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const bool joins = is_single(plan, plan.steps[j], OpKind::kLinear) && input(plan.steps[j]) == x &&
                         may_join(plan, first_op(plan, plan.steps[j])) && can_move_up(plan, i, j);
      if (joins) merge(plan, i, j, "same_input");
    }
  }
}

// W·x + residual: the sum where the product is made.
void linear_residual(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_single(plan, plan.steps[i], OpKind::kLinear) || !may_join(plan, first_op(plan, plan.steps[i])))
      continue;
    const ValueId y = first_op(plan, plan.steps[i]).out[0];
    if (readers[static_cast<size_t>(y)] != 1) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      if (!reads(plan, plan.steps[j], y)) continue;
      const bool joins = is_single(plan, plan.steps[j], OpKind::kAdd) && can_move_up(plan, i, j) &&
                         first_op(plan, plan.steps[j]).in[0] != first_op(plan, plan.steps[j]).in[1];
      if (joins) merge(plan, i, j, "linear_residual");
      break;
    }
  }
}

bool in_chain(OpKind kind) {
  return kind == OpKind::kRmsNorm || kind == OpKind::kLayerNorm || kind == OpKind::kAdd ||
         kind == OpKind::kScale || kind == OpKind::kConcat || kind == OpKind::kSlice ||
         kind == OpKind::kQuantAct;
}
bool heads_chain(OpKind kind) {
  return in_chain(kind) || kind == OpKind::kEmbed || kind == OpKind::kHiddenIn || kind == OpKind::kGatherRows;
}

// Neighbouring operations that work on one row at a time: norms, sums, scales, quantization, behind a row
// source.
void row_chain(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const Step& head = plan.steps[i];
    if (head.rule != "row_chain" && (head.ops.size() != 1 || !heads_chain(first_op(plan, head).kind)))
      continue;
    const Rows rows = plan.value(first_op(plan, head).out[0]).rows;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      const bool joins = next.ops.size() == 1 && in_chain(first_op(plan, next).kind) &&
                         plan.value(first_op(plan, next).out[0]).rows == rows &&
                         depends(plan, next, plan.steps[i]) && can_move_up(plan, i, j);
      if (joins) merge(plan, i, j, "row_chain");
    }
  }
}

bool is_head_op(OpKind kind) {
  return kind == OpKind::kHeadNorm || kind == OpKind::kRope || kind == OpKind::kKvWrite;
}

// Per-head norm and rotation of q and k, and the write of k and v, of one layer.
void head_rope_write(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (plan.steps[i].ops.empty() || !is_head_op(first_op(plan, plan.steps[i]).kind)) continue;
    const int32_t layer = first_op(plan, plan.steps[i]).layer;
    const Rows rows = plan.value(first_op(plan, plan.steps[i]).in[0]).rows;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      const bool joins = next.ops.size() == 1 && is_head_op(first_op(plan, next).kind) &&
                         first_op(plan, next).layer == layer &&
                         plan.value(first_op(plan, next).in[0]).rows == rows && can_move_up(plan, i, j);
      if (joins) merge(plan, i, j, "head_rope_write");
    }
  }
}

constexpr Rule kRules[] = {
    {"glu", "gate, up, activation", compacted<glu>},
    {"glu_quant", "glu, quant_act", compacted<glu_quant>},
    {"linear_residual", "linear, add", compacted<linear_residual>},
    {"same_input", "products of one value", compacted<same_input>},
    {"head_rope_write", "head_norm, rope, kv_write", compacted<head_rope_write>},
    {"attention_quant", "attention, quant_act", compacted<attention_quant>},
    {"row_chain", "embed or gather_rows, norm, add, scale, quant_act", compacted<row_chain>},
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

}  // namespace brass
