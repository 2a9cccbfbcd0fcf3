// Rules for devices that pay for every step.
#include "base/check.h"
#include "plan/rules.h"
#include "plan/rules_support.h"

namespace brass {
namespace {

using namespace rules;

constexpr uint32_t kMostTaps = 8;  // of a convolution whose window a thread holds in registers

// The products of a token's experts as glu has those of one weight.
void moe_glu(Plan& plan) { join_glu(plan, OpKind::kMoeLinear, "moe_glu"); }
void moe_glu_quant(Plan& plan) { quantize_behind(plan, "moe_glu", "moe_glu_quant"); }

// The choice of a row's experts by the step of their first products. An expert's own bias or scale stays apart.
void route_glu(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_single(plan, plan.steps[i], OpKind::kMoeRoute)) continue;
    const Op& route = first_op(plan, plan.steps[i]);
    if (route.as<RouteAttrs>().expert_scale) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      if (next.rule != "moe_glu_quant" || first_op(plan, next).in[1] != route.out[0]) continue;
      const bool biased = std::ranges::any_of(next.ops, [&](uint32_t o) {
        const auto* a = std::get_if<ExpertAttrs>(&plan.ops[o].attrs);
        return a != nullptr && (a->bias || a->own_input);
      });
      if (!biased && can_move_up(plan, i, j)) merge(plan, i, j, kRouteGlu);
      break;
    }
  }
}

// The step that alone reads v, behind step i, if it is one operation of this kind; else the number of steps.
size_t only_reader(const Plan& plan, size_t i, ValueId v, OpKind kind, const std::vector<uint32_t>& readers) {
  if (readers[static_cast<size_t>(v)] != 1) return plan.steps.size();
  for (size_t j = i + 1; j < plan.steps.size(); j++)
    if (reads(plan, plan.steps[j], v)) return is_single(plan, plan.steps[j], kind) ? j : plan.steps.size();
  return plan.steps.size();
}

// Whether act(gate) · v is what the step makes, and v is not its gate.
bool gates(const Plan& plan, size_t step, ValueId v) {
  if (step >= plan.steps.size()) return false;
  const Op& act = first_op(plan, plan.steps[step]);
  return act.in[1] == v && act.in[0] != v && act.as<ActAttrs>().kind != ActKind::kClampedSwiglu;
}

// Attention of few rows whose heads are whole blocks of int8, its gate, and the int8 form.
void attention_blocks_quant(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  const size_t none = plan.steps.size();
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_single(plan, plan.steps[i], OpKind::kAttention)) continue;
    const auto& a = first_op(plan, plan.steps[i]).as<AttentionAttrs>();
    ValueId y = first_op(plan, plan.steps[i]).out[0];
    if (!splits_over_positions(a) || a.v_dim % 32 != 0) continue;
    const size_t gate = only_reader(plan, i, y, OpKind::kActMul, readers);
    const bool gated = gates(plan, gate, y);
    if (gated) y = first_op(plan, plan.steps[gate]).out[0];
    const size_t quant = only_reader(plan, gated ? gate : i, y, OpKind::kQuantAct, readers);
    if (quant == none || (gated && !can_move_up(plan, i, gate))) continue;
    if (gated) merge(plan, i, gate, "attention_blocks_quant");
    merge(plan, i, quant, "attention_blocks_quant");
  }
}

// What makes v within a step: at most one norm of heads and one rotation, in either order.
struct HeadForm {
  const NormAttrs* norm = nullptr;
  const RopeAttrs* rope = nullptr;
  bool norm_first = false, own_gains = false, is_plain = true;
  ValueId table = -1;
};
HeadForm head_form(const Plan& plan, const Step& step, ValueId v) {
  HeadForm form;
  for (size_t i = step.ops.size(); i-- > 0;) {
    const Op& op = plan.ops[step.ops[i]];
    if (op.out.size() != 1 || op.out[0] != v) continue;
    v = op.in[0];
    if (op.kind == OpKind::kRope) {
      form.is_plain = form.is_plain && form.rope == nullptr;
      form.rope = &op.as<RopeAttrs>();
      form.table = op.in[1];
    } else {
      form.is_plain = form.is_plain && op.kind == OpKind::kHeadNorm && form.norm == nullptr;
      form.norm = op.kind == OpKind::kHeadNorm ? &op.as<NormAttrs>() : nullptr;
      form.norm_first = form.rope != nullptr;  // going backwards
      form.own_gains = form.norm != nullptr && !op.weights.empty() &&
                       plan.weight(op.weights[0]).cols > plan.value(op.out[0]).width / form.norm->heads;
    }
  }
  return form;
}

bool same_form(const HeadForm& q, const HeadForm& k) {
  if (!q.is_plain || !k.is_plain || q.own_gains || k.own_gains || q.norm_first != k.norm_first ||
      (q.norm == nullptr) != (k.norm == nullptr) || (q.rope == nullptr) != (k.rope == nullptr))
    return false;
  if (q.norm != nullptr && q.norm->eps != k.norm->eps) return false;
  return q.rope == nullptr ||
         (q.rope->n_rot == k.rope->n_rot && q.rope->neox == k.rope->neox && q.table == k.table);
}

// Whether this step makes all that the attention of one row needs and nothing else: its queries, the key and the value.
bool makes_heads_for(const Plan& plan, const Step& step, const Op& attention,
                     const std::vector<uint32_t>& readers) {
  const Op* write = nullptr;
  for (const uint32_t o : step.ops) {
    const Op& op = plan.ops[o];
    if (op.kind == OpKind::kKvWrite) {
      if (write != nullptr) return false;
      write = &op;
    } else if (readers[static_cast<size_t>(op.out[0])] != 1) {
      return false;
    }
  }
  if (write == nullptr || write->in.size() != 2 || makes(plan, step, write->in[1])) return false;
  const auto& a = attention.as<AttentionAttrs>();
  const auto& w = write->as<KvAttrs>();
  const HeadForm q = head_form(plan, step, attention.in[0]), k = head_form(plan, step, write->in[0]);
  const size_t made = 2 * ((q.norm != nullptr ? 1 : 0) + (q.rope != nullptr ? 1 : 0));
  return a.causal && a.group == w.group && a.layer == w.layer && made > 0 && step.ops.size() == made + 1 &&
         same_form(q, k);
}

// Norm and rotation of heads, the write of key and value, and the attention that reads them, of one row.
void head_rope_write_attend(Plan& plan) {
  if (plan.key.t != 1) return;
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (plan.steps[i].rule != "head_rope_write") continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      if (plan.steps[j].ops.empty() || first_op(plan, plan.steps[j]).kind != OpKind::kAttention) continue;
      const Op& attention = first_op(plan, plan.steps[j]);
      if (splits_over_positions(attention.as<AttentionAttrs>()) &&
          makes_heads_for(plan, plan.steps[i], attention, readers) && can_move_up(plan, i, j))
        merge(plan, i, j, "head_rope_write_attend");
      break;
    }
  }
}

// A gate on values, which may be normed head by head before, and the int8 form.
void gate_quant(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  const size_t none = plan.steps.size();
  for (size_t g = 0; g < plan.steps.size(); g++) {
    if (!is_single(plan, plan.steps[g], OpKind::kActMul)) continue;
    const Op& act = first_op(plan, plan.steps[g]);
    const size_t quant = only_reader(plan, g, act.out[0], OpKind::kQuantAct, readers);
    if (quant == none || !gates(plan, g, act.in[1])) continue;
    merge(plan, g, quant, "gate_quant");
    const size_t norm = maker(plan, act.in[1]);
    if (!is_single(plan, plan.steps[norm], OpKind::kHeadNorm) || readers[static_cast<size_t>(act.in[1])] != 1)
      continue;
    const uint32_t heads = first_op(plan, plan.steps[norm]).as<NormAttrs>().heads;
    if (plan.value(act.in[1]).width / heads % 32 != 0 || !can_move_up(plan, norm, g)) continue;
    merge(plan, norm, g, "gate_quant");
  }
}

// The delta rule, the norm of its heads, their gate and the int8 form.
void delta_gate_quant(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_single(plan, plan.steps[i], OpKind::kDeltaNet)) continue;
    const auto& a = first_op(plan, plan.steps[i]).as<DeltaAttrs>();
    const ValueId y = first_op(plan, plan.steps[i]).out[0];
    if (!steps_by_shares(a) || readers[static_cast<size_t>(y)] != 1) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      if (next.rule != "gate_quant" || first_op(plan, next).kind != OpKind::kHeadNorm ||
          first_op(plan, next).in[0] != y)
        continue;
      const Op& norm = first_op(plan, next);
      const bool own_gains = !norm.weights.empty() && plan.weight(norm.weights[0]).cols > a.v_dim;
      if (norm.as<NormAttrs>().heads == a.v_heads && !own_gains && can_move_up(plan, i, j))
        merge(plan, i, j, "delta_gate_quant");
      break;
    }
  }
}

// See kLinearConv.
void linear_conv(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const bool products =
        plan.steps[i].rule == "same_input" || is_single(plan, plan.steps[i], OpKind::kLinear);
    if (!products) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      if (!is_single(plan, plan.steps[j], OpKind::kConv1d)) continue;
      const Op& conv = first_op(plan, plan.steps[j]);
      const ValueId u = conv.in[0];
      if (!makes(plan, plan.steps[i], u)) continue;
      const auto& a = conv.as<ConvAttrs>();
      const bool int8 = plan.value(first_op(plan, plan.steps[i]).in[0]).quantized();
      if (int8 && readers[static_cast<size_t>(u)] == 1 && !a.bias && a.taps <= kMostTaps &&
          can_move_up(plan, i, j))
        merge(plan, i, j, kLinearConv);
      break;
    }
  }
}

// The sum of a token's experts and what is added to it.
void combine_add(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_single(plan, plan.steps[i], OpKind::kMoeCombine)) continue;
    const size_t sum = only_reader(plan, i, first_op(plan, plan.steps[i]).out[0], OpKind::kAdd, readers);
    const uint32_t width = plan.value(first_op(plan, plan.steps[i]).out[0]).width;
    if (width % 4 == 0 && sum < plan.steps.size() && can_move_up(plan, i, sum))
      merge(plan, i, sum, "combine_add");
  }
}

bool is_row_norm(const Op& op) { return op.kind == OpKind::kRmsNorm || op.kind == OpKind::kLayerNorm; }

// The int8 form of a norm beside it.
void norm_quant(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (plan.steps[i].ops.size() != 1 || !is_row_norm(first_op(plan, plan.steps[i])) ||
        first_op(plan, plan.steps[i]).as<NormAttrs>().heads != 1)
      continue;
    const ValueId y = first_op(plan, plan.steps[i]).out[0];
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      if (!is_single(plan, plan.steps[j], OpKind::kQuantAct) || first_op(plan, plan.steps[j]).in[0] != y)
        continue;
      merge(plan, i, j, "norm_quant");
      break;
    }
  }
}

// A sum and the norm of it.
void add_norm(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    const bool combined = plan.steps[i].rule == "combine_add";
    if (!combined && !is_single(plan, plan.steps[i], OpKind::kAdd)) continue;
    const ValueId sum = last_op(plan, plan.steps[i]).out[0];
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      if (next.ops.empty() || next.rule == kNormLinear || !is_row_norm(first_op(plan, next)) ||
          first_op(plan, next).in[0] != sum || first_op(plan, next).as<NormAttrs>().heads != 1 ||
          (combined && first_op(plan, next).kind != OpKind::kRmsNorm))
        continue;
      if (can_move_up(plan, i, j)) merge(plan, i, j, "add_norm");
      break;
    }
  }
}

// Whether all that reads v are products that can multiply their results by a factor of the row.
bool products_read(const Plan& plan, ValueId v) {
  return std::ranges::all_of(plan.ops, [&](const Op& op) {
    return std::ranges::count(op.in, v) == 0 || op.kind == OpKind::kLinear || op.kind == OpKind::kLmHead ||
           op.kind == OpKind::kMoeLinear;
  });
}

// The norm of a step that begins with one of whole rows which may be folded, else nothing.
const Op* plain_norm(const Plan& plan, const Step& step) {
  if (step.ops.empty()) return nullptr;
  const Op& norm = first_op(plan, step);
  const bool plain =
      norm.kind == OpKind::kRmsNorm && norm.weights.size() <= 1 && norm.as<NormAttrs>().heads == 1;
  return plain ? &norm : nullptr;
}

// See kNormLinear.
void norm_linear(Plan& plan) {
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (plan.steps[i].rule != "norm_quant" || plain_norm(plan, plan.steps[i]) == nullptr) continue;
    const Op norm = *plain_norm(plan, plan.steps[i]);
    for (Step& step : plan.steps) {
      if (!is_single(plan, step, OpKind::kLinear)) continue;
      const uint32_t product = step.ops[0];
      if (plan.ops[product].in[0] != norm.out[0] || !is_router(plan, plan.ops[product])) continue;
      const auto id = static_cast<ValueId>(plan.values.size());
      plan.values.push_back(plan.value(norm.out[0]));
      plan.values.back().name += ".again";
      plan.ops[product].in[0] = id;
      step.ops = {static_cast<uint32_t>(plan.ops.size()), product};
      step.rule = kNormLinear;
      plan.ops.push_back(norm);
      plan.ops.back().name += ".again";
      plan.ops.back().out = {id};
    }
  }
}

// The products of a row's experts, and their sum with what is added to it, the norm of it and the int8 form.
void fold_experts(Plan& plan) {
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (!is_single(plan, plan.steps[i], OpKind::kMoeLinear) || !may_join(plan, first_op(plan, plan.steps[i])))
      continue;
    const Op& down = first_op(plan, plan.steps[i]);
    if (!down.as<ExpertAttrs>().own_input || readers[static_cast<size_t>(down.out[0])] != 1) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      if (next.rule != "add_norm" || next.ops.size() != 4 || !reads(plan, next, down.out[0])) continue;
      const Op &combine = first_op(plan, next), &norm = plan.ops[next.ops[2]], &quant = plan.ops[next.ops[3]];
      if (combine.kind == OpKind::kMoeCombine && combine.in.size() == 2 && combine.in[1] == down.in[1] &&
          plan.value(combine.out[0]).width % 32 == 0 && norm.weights.size() <= 1 &&
          readers[static_cast<size_t>(norm.out[0])] == 1 && products_read(plan, quant.out[0]) &&
          can_move_up(plan, i, j))
        merge(plan, i, j, kFoldNorm);
      break;
    }
  }
}

// See kFoldNorm.
void fold_norm(Plan& plan) {
  fold_experts(plan);
  const std::vector<uint32_t> readers = reader_counts(plan);
  for (size_t i = 0; i < plan.steps.size(); i++) {
    if (plan.steps[i].rule != "linear_residual") continue;
    const ValueId sum = last_op(plan, plan.steps[i]).out[0];
    if (plan.value(sum).width % 32 != 0) continue;
    for (size_t j = i + 1; j < plan.steps.size(); j++) {
      const Step& next = plan.steps[j];
      if (next.rule != "norm_quant" || first_op(plan, next).in[0] != sum) continue;
      const Op& norm = first_op(plan, next);
      if (plain_norm(plan, next) != nullptr && readers[static_cast<size_t>(norm.out[0])] == 1 &&
          products_read(plan, last_op(plan, next).out[0]) && can_move_up(plan, i, j))
        merge(plan, i, j, kFoldNorm);
      break;
    }
  }
}

constexpr Rule kRules[] = {
    {"moe_glu", "gate and up of experts, activation", compacted<moe_glu>},
    {"moe_glu_quant", "moe_glu, quant_act", compacted<moe_glu_quant>},
    {kRouteGlu, "moe_route, moe_glu_quant", compacted<route_glu>},
    {"attention_blocks_quant", "attention of whole blocks, its gate, quant_act",
     compacted<attention_blocks_quant>},
    {"head_rope_write_attend", "head_rope_write of one row, attention", compacted<head_rope_write_attend>},
    {"gate_quant", "head_norm, act_mul, quant_act", compacted<gate_quant>},
    {"delta_gate_quant", "delta_net, gate_quant", compacted<delta_gate_quant>},
    {kLinearConv, "linear or same_input of int8, conv1d", compacted<linear_conv>},
    {"combine_add", "moe_combine, add", compacted<combine_add>},
    {"norm_quant", "norm, quant_act", compacted<norm_quant>},
    {kNormLinear, "norm, linear of f32 weights", compacted<norm_linear>},
    {"add_norm", "add or combine_add, norm_quant or norm", compacted<add_norm>},
    {kFoldNorm, "linear_residual or moe_linear and combine_add, norm_quant", compacted<fold_norm>},
};

}  // namespace

std::span<const Rule> dispatch_rules() { return kRules; }

bool splits_over_positions(const AttentionAttrs& a) {
  return a.k_dim % 4 == 0 && a.v_dim % 4 == 0 && a.k_dim <= 1024 && a.v_dim <= 512;
}

bool is_router(const Plan& plan, const Op& op) {
  return op.kind == OpKind::kLinear && !plan.value(op.in[0]).quantized() &&
         plan.weight(op.weights[0]).type == Type::F32 && plan.weight(op.weights[0]).cols % 4 == 0;
}

bool steps_by_shares(const DeltaAttrs& a) {
  return a.v_dim % 64 == 0 && a.v_dim <= 512 && a.k_dim % 4 == 0 && a.k_dim <= 512;
}

}  // namespace brass
