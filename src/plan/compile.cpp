#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "plan/plan.h"
#include "plan/rules.h"

namespace brass {

uint32_t bucket(uint32_t n) { return n == 0 ? 0 : std::bit_ceil(n); }

namespace {

constexpr uint32_t round_up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }

bool is_matrix_product(const Op& op) {
  return op.kind == OpKind::kLinear || op.kind == OpKind::kLmHead || op.kind == OpKind::kHeadLinear ||
         op.kind == OpKind::kMoeLinear;
}

// What a later step reads through memory.
bool writes_memory(OpKind kind) {
  return kind == OpKind::kKvWrite || kind == OpKind::kConv1d || kind == OpKind::kDeltaNet ||
         kind == OpKind::kSsmScan;
}

Result<> check_supported(const Graph& graph, const Caps& caps) {
  for (const Op& op : graph.ops) {
    if (!caps.operations.contains(op.kind))
      return fail("device '{}' cannot run {} ('{}', layer {})", caps.name, op_name(op.kind), op.name,
                  op.layer);
    for (const WeightId id : op.weights) {
      const Weight& w = graph.weights[static_cast<size_t>(id)];
      if (w.kind == WeightKind::kMatrix && !caps.matrix_types.contains(w.type))
        return fail("device '{}' has no kernel for {} ('{}', layer {}): tensor '{}' is {}", caps.name,
                    op_name(op.kind), op.name, op.layer, w.name, find_format(w.type)->name);
    }
  }
  return {};
}

// Values that nothing reads and operations that make only those, from the end: a step without output (R = 0)
// needs no head, nor what only the head would read.
void drop_dead(Plan& plan) {
  std::vector<bool> read(plan.values.size(), false);
  for (const ValueId v : plan.outputs()) read[static_cast<size_t>(v)] = true;
  std::vector<Op> kept;
  for (size_t i = plan.ops.size(); i-- > 0;) {
    Op& op = plan.ops[i];
    const bool needed = writes_memory(op.kind) ||
                        std::ranges::any_of(op.out, [&](ValueId v) { return read[static_cast<size_t>(v)]; });
    if (!needed) continue;
    for (const ValueId v : op.in) read[static_cast<size_t>(v)] = true;
    kept.push_back(std::move(op));
  }
  std::ranges::reverse(kept);
  plan.ops = std::move(kept);
}

// Puts a quant_act behind each value that some product wants in int8, and lets those products read its result. It has
// as many terms as the one that wants most: the others read the first, which is the same.
void insert_quant_act(Plan& plan) {
  std::vector<ValueId> quantized(plan.values.size(), -1);
  std::vector<uint8_t> wanted(plan.values.size(), 0);
  const auto int8_terms = [&](const Op& op) -> uint8_t {
    if (plan.key.t > plan.caps.int8_rows || !is_matrix_product(op)) return 0;
    const auto found = plan.caps.int8_terms.find(plan.weight(op.weights[0]).type);
    return found == plan.caps.int8_terms.end() ? 0 : found->second;
  };
  for (const Op& op : plan.ops)
    if (const uint8_t terms = int8_terms(op)) {
      uint8_t& most = wanted[static_cast<size_t>(op.in[0])];
      most = std::max(most, terms);
    }

  std::vector<Op> ops;
  for (Op& op : plan.ops) {
    if (int8_terms(op) > 0) op.in[0] = quantized[static_cast<size_t>(op.in[0])];
    ops.push_back(op);
    for (const ValueId v : op.out) {
      if (wanted[static_cast<size_t>(v)] == 0) continue;
      Value q = plan.value(v);
      q.int8_terms = wanted[static_cast<size_t>(v)];
      q.name = fmt::format("{}.{}", q.name, value_type_name(q));
      const auto id = static_cast<ValueId>(plan.values.size());
      plan.values.push_back(q);
      quantized[static_cast<size_t>(v)] = id;
      ops.push_back(Op{.kind = OpKind::kQuantAct, .layer = op.layer, .name = q.name, .in = {v}, .out = {id}});
    }
  }
  plan.ops = std::move(ops);
}

void insert_choose(Plan& plan) {
  const bool one = plan.key.choose == 1;
  const uint32_t candidates = one ? 0 : std::min(plan.key.choose, plan.value(plan.source->logits).width);
  plan.choice = static_cast<ValueId>(plan.values.size());
  plan.values.push_back(
      {.name = one ? "choice" : "candidates", .rows = Rows::kR, .width = one ? 1 : 2 * candidates});
  plan.ops.push_back(Op{.kind = OpKind::kChoose,
                        .name = "choose",
                        .in = {plan.source->logits},
                        .out = {plan.choice},
                        .attrs = ChooseAttrs{candidates}});
}

bool is_row_wise(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbed:
    case OpKind::kHiddenIn:
    case OpKind::kGatherRows:
    case OpKind::kRmsNorm:
    case OpKind::kLayerNorm:
    case OpKind::kAdd:
    case OpKind::kScale:
    case OpKind::kConcat:
    case OpKind::kSlice:
    case OpKind::kSoftcap:
    case OpKind::kQuantAct:
    case OpKind::kRopeTable:
    case OpKind::kMoeRoute:
    case OpKind::kMoeCombine:
      return true;
    default:
      return false;
  }
}

// A row-wise step over few short rows costs less when every thread does it all than when they meet after it.
void choose_private(Plan& plan) {
  constexpr uint32_t kWidest = 32768;
  const std::vector<ValueId> outputs = plan.outputs();
  for (Step& step : plan.steps) {
    step.in_private = plan.caps.threads > 1 && std::ranges::all_of(step.ops, [&](uint32_t o) {
                        const Op& op = plan.ops[o];
                        if (!is_row_wise(op.kind) || std::ranges::count(outputs, op.out[0]) > 0) return false;
                        const Value& v = plan.value(op.out[0]);
                        return (v.rows == Rows::kT ? plan.key.t : plan.key.r) <= plan.caps.private_rows &&
                               v.width <= kWidest;
                      });
  }
}

// A value lies inside its step where that reads all there is to read of it. One that nothing reads (a convolution, say, of
// which only the state is wanted) has a place, for its program writes it.
void find_lifetimes(Plan& plan) {
  plan.placed.assign(plan.values.size(), Placed{});
  std::vector<bool> made(plan.values.size(), false), read(plan.values.size(), false);
  for (uint32_t s = 0; s < plan.steps.size(); s++) {
    for (const uint32_t o : plan.steps[s].ops) {
      for (const ValueId v : plan.ops[o].in) {
        plan.placed[static_cast<size_t>(v)].last = s;
        read[static_cast<size_t>(v)] = true;
      }
      for (const ValueId v : plan.ops[o].out) {
        plan.placed[static_cast<size_t>(v)].first = plan.placed[static_cast<size_t>(v)].last = s;
        made[static_cast<size_t>(v)] = true;
      }
    }
  }
  for (const ValueId v : plan.outputs())
    plan.placed[static_cast<size_t>(v)].last = static_cast<uint32_t>(plan.steps.size());
  for (size_t v = 0; v < plan.values.size(); v++) {
    Placed& p = plan.placed[v];
    if (!made[v] || (p.first == p.last && read[v])) continue;
    p.storage = plan.steps[p.first].in_private ? Storage::kPrivate : Storage::kArena;
  }
}

// Values that the rule fold_norm leaves without their norm's factor.
void mark_folded(Plan& plan) {
  for (const Step& step : plan.steps) {
    if (step.rule != kFoldNorm) continue;
    for (const uint32_t o : step.ops)
      if (plan.ops[o].kind == OpKind::kRmsNorm)
        plan.placed[static_cast<size_t>(plan.ops[step.ops.back()].out[0])].norm = static_cast<int32_t>(o);
  }
}

void size_value(const Plan& plan, const Value& value, Placed& placed) {
  const uint32_t rows = value.rows == Rows::kT ? plan.key.t : plan.key.r;
  if (value.quantized()) {
    const QuantizedLayout layout = quantized_layout(value.width, rows, value.int8_terms);
    placed.stride = static_cast<uint32_t>(layout.code_stride);
    placed.bytes = layout.bytes + (placed.norm >= 0 ? layout.squares_bytes : 0);
  } else {
    placed.stride = round_up(value.width, 16);
    placed.bytes = uint64_t{rows} * placed.stride * sizeof(float);
  }
}

// First fit in order of birth: the lowest offset whose bytes no live value holds.
void assign_arena(Plan& plan) {
  std::vector<uint32_t> order;
  for (uint32_t v = 0; v < plan.values.size(); v++) {
    size_value(plan, plan.values[v], plan.placed[v]);
    if (plan.placed[v].storage != Storage::kInternal) order.push_back(v);
  }
  std::ranges::stable_sort(order, {}, [&](uint32_t v) { return plan.placed[v].first; });
  const auto whole = [&](const Placed& p) {
    return p.bytes * (p.storage == Storage::kPrivate ? plan.caps.threads : 1);
  };
  std::vector<uint32_t> live;  // ordered by offset
  for (const uint32_t v : order) {
    Placed& p = plan.placed[v];
    if (plan.key.t > plan.caps.own_place_rows)
      std::erase_if(live, [&](uint32_t other) { return plan.placed[other].last < p.first; });
    uint64_t offset = 0;
    for (const uint32_t other : live) {
      if (offset + whole(p) <= plan.placed[other].offset) break;
      offset = std::max(offset, (plan.placed[other].offset + whole(plan.placed[other]) + 255) / 256 * 256);
    }
    p.offset = offset;
    live.insert(std::ranges::upper_bound(live, offset, {}, [&](uint32_t o) { return plan.placed[o].offset; }),
                v);
    plan.arena_bytes = std::max(plan.arena_bytes, offset + whole(p));
  }
}

}  // namespace

QuantizedLayout quantized_layout(uint32_t width, uint32_t rows, uint32_t terms) {
  QuantizedLayout layout;
  layout.code_stride = round_up(width, 64);
  // Rows a multiple of 1 KiB apart would fall into the same few cache sets.
  if (layout.code_stride % 1024 == 0) layout.code_stride += 64;
  layout.scale_stride = round_up((width + 31) / 32, 16);
  layout.seconds = layout.code_stride * rows;
  layout.scales = layout.seconds * terms;
  layout.sums = layout.scales + layout.scale_stride * rows * sizeof(float);
  layout.squares_bytes = layout.scale_stride * rows * sizeof(float);
  layout.bytes = layout.sums + layout.squares_bytes;
  return layout;
}

std::vector<ValueId> Plan::outputs() const {
  std::vector<ValueId> all;
  if (key.choose > 0)
    all.push_back(choice);
  else if (key.r > 0 && source->output() >= 0)
    all.push_back(source->output());
  if (key.hidden) all.push_back(source->hidden);
  return all;
}

// What a segment receives, but for what came with the batch, was another device's.
uint64_t Plan::moved_bytes(uint64_t t) const {
  uint64_t width = 0;
  for (const auto& segment : segments)
    for (const Op& op : segment->ops)
      if (op.kind == OpKind::kHiddenIn) width += segment->value(op.out[0]).width;
  return t * width * sizeof(float);
}

Result<std::shared_ptr<const Plan>> compile(std::shared_ptr<const Graph> graph, PlanKey key,
                                            const Caps& caps) {
  ENSURE(!key.hidden || graph->hidden >= 0, "{}: no hidden rows", graph->architecture);
  const bool chooses = key.choose > 0;
  ENSURE(!chooses || (graph->logits >= 0 && key.r > 0), "{}: nothing to choose from", graph->architecture);
  ENSURE(!chooses || graph->values[static_cast<size_t>(graph->logits)].width < kMostChoices, "{} logits",
         graph->values[static_cast<size_t>(graph->logits)].width);
  ENSURE(key.choose <= kMostCandidates, "{} candidates", key.choose);
  TRY_VOID(check_supported(*graph, caps));
  if (chooses && !caps.operations.contains(OpKind::kChoose))
    return fail("device '{}' cannot run {}", caps.name, op_name(OpKind::kChoose));
  auto plan = std::make_shared<Plan>();
  plan->key = key;
  plan->caps = caps;
  plan->values = graph->values;
  plan->ops = graph->ops;
  plan->groups = graph->touched_groups();
  plan->source = std::move(graph);
  if (chooses) insert_choose(*plan);
  drop_dead(*plan);
  insert_quant_act(*plan);
  for (uint32_t o = 0; o < plan->ops.size(); o++)
    plan->steps.push_back(Step{.rule = op_name(plan->ops[o].kind), .ops = {o}});
  for (const auto& list : {all_rules(), dispatch_rules()})
    for (const Rule& rule : list)
      if (key.t <= caps.rule_rows && caps.rules.contains(rule.name)) rule.apply(*plan);
  choose_private(*plan);
  find_lifetimes(*plan);
  mark_folded(*plan);
  assign_arena(*plan);
  declare_ranges(*plan);
  place_barriers(*plan);
  const Result<> sound = check_plan(*plan);
  ENSURE(sound.has_value(), "{}", sound.error().message);
  return plan;
}

Cost step_cost(const Plan& plan, const Step& step, const Sizes& sizes) {
  Cost total;
  for (const uint32_t o : step.ops)
    total += op_cost(*plan.source, plan.values, plan.ops[o], sizes, plan.caps.kv);
  // Activations: what crosses the border of the step, not what stays inside.
  total.activation_bytes = 0;
  std::set<ValueId> seen;
  for (const uint32_t o : step.ops)
    for (const auto* list : {&plan.ops[o].in, &plan.ops[o].out})
      for (const ValueId v : *list)
        if (plan.place(v).storage != Storage::kInternal && seen.insert(v).second)
          total.activation_bytes += value_bytes(plan.value(v), sizes);
  return total;
}

Cost plan_cost(const Plan& plan, const Sizes& sizes) {
  Cost total;
  each_part(plan, [&](const Plan& part) {
    for (const Step& step : part.steps) total += step_cost(part, step, sizes);
  });
  return total;
}

}  // namespace brass
