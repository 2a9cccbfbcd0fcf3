#include "plan/explain.h"

#include <algorithm>

namespace brass {
namespace {

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

// "Q4_K 4864x896", with " (2.0 of 8 experts)" of those that a step is expected to read.
std::string matrix_text(const Plan& plan, const Op& op, const Weight& w, const Sizes& sizes) {
  const std::string text = fmt::format("{} {}x{}", find_format(w.type)->name, w.rows, w.cols);
  if (op.kind != OpKind::kMoeLinear) return text;
  const auto& a = op.as<ExpertAttrs>();
  const uint64_t rows = row_count(plan.value(op.out[0]).rows, sizes);
  return fmt::format("{} ({:.1f} of {} experts)", text, expected_experts(a.experts, a.used, rows), a.experts);
}

// "glu{Q4_K 4864x896, Q4_K 4864x896}": the rule and the matrices that it reads.
std::string kernel_text(const Plan& plan, const Step& step, const Sizes& sizes) {
  std::vector<std::string> weights;
  for (const uint32_t o : step.ops)
    for (const WeightId id : plan.ops[o].weights)
      if (plan.weight(id).kind == WeightKind::kMatrix)
        weights.push_back(matrix_text(plan, plan.ops[o], plan.weight(id), sizes));
  if (weights.empty()) return std::string(step.rule);
  return fmt::format("{}{{{}}}", step.rule, join(weights, ", "));
}

std::string value_text(const Plan& plan, ValueId v) {
  const Placed& p = plan.place(v);
  const Value& value = plan.value(v);
  const char* mark = p.storage == Storage::kPrivate ? "*" : "";
  return fmt::format("{}[{},{}]@{}{}", value.name, value.rows == Rows::kT ? "T" : "R", value.width, p.offset,
                     mark);
}

std::string operands_text(const Plan& plan, const Step& step) {
  std::vector<std::string> in, out;
  std::set<ValueId> seen;
  for (const uint32_t o : step.ops) {
    for (const ValueId v : plan.ops[o].in)
      if (plan.place(v).storage != Storage::kInternal && seen.insert(v).second)
        in.push_back(value_text(plan, v));
    for (const ValueId v : plan.ops[o].out) {
      seen.insert(v);
      if (plan.place(v).storage != Storage::kInternal) out.push_back(value_text(plan, v));
    }
    if (plan.ops[o].kind == OpKind::kKvWrite) {
      const auto& a = plan.ops[o].as<KvAttrs>();
      out.push_back(fmt::format("{}:{}", plan.source->groups[a.group].name, a.layer));
    } else if (plan.ops[o].kind == OpKind::kAttention) {
      const auto& a = plan.ops[o].as<AttentionAttrs>();
      in.push_back(fmt::format("{}:{}", plan.source->groups[a.group].name, a.layer));
    }
  }
  return fmt::format("{} -> {}", join(in, " "), join(out, " "));
}

std::string bytes_text(uint64_t n) {
  if (n == 0) return "-";
  if (n < 10'000) return fmt::format("{} B", n);
  if (n < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(n) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(n) / 1e6);
}

std::string flops_text(uint64_t n) {
  if (n < 10'000) return fmt::format("{}", n);
  if (n < 10'000'000) return fmt::format("{:.1f} k", static_cast<double>(n) / 1e3);
  return fmt::format("{:.1f} M", static_cast<double>(n) / 1e6);
}

}  // namespace

namespace {

void add_rows(const Plan& plan, const Sizes& sizes, std::vector<StepRow>& rows) {
  for (const Step& step : plan.steps)
    rows.push_back({plan.ops[step.ops[0]].name, kernel_text(plan, step, sizes), operands_text(plan, step),
                    step.ops.size() > 1 ? std::string(step.rule) : "", step.barrier,
                    step_cost(plan, step, sizes)});
}

std::string rows_text(const std::vector<StepRow>& rows) {
  std::string text =
      "  #    b step                       weights      KV, state    flops      kernel | rule | in -> out"
      " (value[rows,width]@arena offset, * one copy a thread)\n";
  for (size_t i = 0; i < rows.size(); i++) {
    const StepRow& row = rows[i];
    text += fmt::format("  {:<4} {} {:<26} {:<12} {:<12} {:<10} {} | {} | {}\n", i, row.barrier ? "|" : " ",
                        row.step, bytes_text(row.cost.weight_bytes),
                        bytes_text(row.cost.kv_read + row.cost.kv_written + row.cost.state_bytes),
                        flops_text(row.cost.flops), row.kernel, row.rule, row.operands);
  }
  return text;
}

std::string plan_text(const Plan& plan, const Sizes& sizes) {
  std::vector<StepRow> rows;
  add_rows(plan, sizes, rows);
  const auto barriers = std::ranges::count_if(rows, [](const StepRow& row) { return row.barrier; });
  const std::string& part = plan.source->part;
  return fmt::format("plan T={} R={} · {}{}{} · profile {} · {} steps · {} barriers · arena {}\n", sizes.t,
                     sizes.r, plan.source->architecture, part.empty() ? "" : " ", part, plan.caps.name,
                     rows.size(), barriers, bytes_text(plan.arena_bytes)) +
         rows_text(rows);
}

}  // namespace

std::vector<StepRow> explain_rows(const Plan& plan, uint64_t t, uint64_t r, uint64_t depth) {
  std::vector<StepRow> rows;
  each_part(plan, [&](const Plan& part) { add_rows(part, {.t = t, .r = r, .s = depth}, rows); });
  return rows;
}

std::string explain(const Plan& plan, uint64_t t, uint64_t r, uint64_t depth) {
  const Sizes sizes{.t = t, .r = r, .s = depth};
  std::string text;
  size_t n = 0;
  each_part(plan, [&](const Plan& part) {
    if (!plan.segments.empty()) text += fmt::format("segment {} of {}: ", ++n, plan.segments.size());
    text += plan_text(part, sizes);
  });
  const Cost total = plan_cost(plan, sizes);
  const std::string state =
      total.state_bytes == 0 ? "" : fmt::format(" + state {}", bytes_text(total.state_bytes));
  const std::string moved =
      plan.segments.empty() ? "" : fmt::format(" · {} between devices", bytes_text(plan.moved_bytes(t)));
  text += fmt::format(
      "totals at S = {}: weights {} + KV read {} + KV written {}{} + activations {} · {} flops{}\n", depth,
      bytes_text(total.weight_bytes), bytes_text(total.kv_read), bytes_text(total.kv_written), state,
      bytes_text(total.activation_bytes), flops_text(total.flops), moved);
  return text;
}

}  // namespace brass
