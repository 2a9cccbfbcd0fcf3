// What rules ask of a plan, and how they join its steps.
//
// Owns: looking at steps, merging two. Must not know: which rules there are. Invariants: a merged step stays behind
// without operations until compacted() has taken it away.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace brass::rules {

inline const Op& first_op(const Plan& plan, const Step& step) { return plan.ops[step.ops[0]]; }
inline const Op& last_op(const Plan& plan, const Step& step) { return plan.ops[step.ops.back()]; }
inline bool is_single(const Plan& plan, const Step& step, OpKind kind) {
  return step.ops.size() == 1 && first_op(plan, step).kind == kind;
}
bool makes(const Plan& plan, const Step& step, ValueId v);
bool reads(const Plan& plan, const Step& step, ValueId v);
// Step j (> i) may move up to stand right behind step i.
bool can_move_up(const Plan& plan, size_t i, size_t j);
// Whether `later` needs `earlier` to have run.
bool depends(const Plan& plan, const Step& later, const Step& earlier);
// Step j becomes part of step i.
void merge(Plan& plan, size_t i, size_t j, std::string_view rule);
// The step that makes v.
size_t maker(const Plan& plan, ValueId v);
// For every value the one that it is a quantized form of, or itself.
std::vector<ValueId> origins(const Plan& plan);
// How many operands of operations each value is; an output is read once more, after the plan.
std::vector<uint32_t> reader_counts(const Plan& plan);
// Whether the device joins this product with others or with what follows (Caps::joins_any_product).
bool may_join(const Plan& plan, const Op& product);
// Gate and up of one kind of product, and the activation of both.
void join_glu(Plan& plan, OpKind product, std::string_view rule);
// The int8 form of a result, made by the step of rule `from` that makes the result.
void quantize_behind(Plan& plan, std::string_view from, std::string_view rule);

template <void (*rule)(Plan&)>
void compacted(Plan& plan) {
  rule(plan);
  std::erase_if(plan.steps, [](const Step& step) { return step.ops.empty(); });
}

}  // namespace brass::rules
