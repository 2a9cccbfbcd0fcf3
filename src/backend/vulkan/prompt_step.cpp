#include "backend/vulkan/prompt_step.h"

#include <algorithm>

namespace brass::vulkan {

Result<bool> PromptStep::make_input_rows(uint32_t cols, uint32_t parts) {
  if (d_.use.rows == op_.in[0]) return false;
  d_.use.rows = op_.in[0];
  TRY_VOID(make_rows(op_.in[0], -1, 0, cols, parts));
  return true;
}

// x, or act(x) · up.
Result<> PromptStep::make_rows(ValueId x, ValueId up, uint32_t kind, uint32_t cols, uint32_t parts) {
  const bool joined = up >= 0;
  const uint32_t n = rows(x) * parts, width = std::min(n, kMaxGroups);
  const auto [program, columns] = row_program();
  Push push;
  push << at(x) << (joined ? at(up) : 0) << d_.memory.rows << d_.memory.scales << n << cols << parts
       << stride(x) << round_up(cols, columns) / 32 << (joined ? stride(up) : 0) << kind;
  return add(std::string(program), {2 * kThreads, flag(joined)}, push, width, divide_up(n, width), 1, true);
}

// The product that alone reads this operation's result, where it is the next one; else null. What stands between
// the two in a step's order must not use scratch memory.
const Op* PromptStep::only_reader() const {
  const Op* reader = nullptr;
  bool behind = false;
  for (const Step& step : d_.plan.steps)
    for (const uint32_t o : step.ops) {
      const Op& other = d_.plan.ops[o];
      if (&other == &op_) {
        behind = true;
        continue;
      }
      if (!behind || (reader != nullptr && std::ranges::count(other.in, op_.out[0]) == 0)) continue;
      if (reader != nullptr) return nullptr;  // a second one
      const bool reads = std::ranges::count(other.in, op_.out[0]) > 0, product = is_product(other);
      if (!reads && !product && other.kind != OpKind::kActMul) continue;
      if (!reads || !product || other.in[0] != op_.out[0] || !multiplies(other)) return nullptr;
      reader = &other;
    }
  return reader;
}

Result<> PromptStep::act_mul() {
  const Op& reader = *only_reader();
  const uint32_t parts = reader.kind == OpKind::kMoeLinear && reader.as<ExpertAttrs>().own_input
                             ? reader.as<ExpertAttrs>().used
                             : 1;
  d_.use.rows = op_.out[0];
  return make_rows(op_.in[0], op_.in[1], static_cast<uint32_t>(op_.as<ActAttrs>().kind), out_width() / parts,
                   parts);
}

Result<bool> PromptStep::group_rows(const ExpertAttrs& a, const ExpertLists& lists) {
  if (d_.use.route == op_.in[1]) return false;
  d_.use.route = op_.in[1];
  const uint64_t at = d_.memory.lists;
  Push push;
  push << in(1) << at << at + uint64_t{4} * lists.order() << at + uint64_t{4} * lists.tiles() << lists.entries
       << a.used << in_stride(1);
  TRY_VOID(add("moe_group", {256u, lists.run}, push, a.experts, 1, 1, true));
  return true;
}

}  // namespace brass::vulkan
