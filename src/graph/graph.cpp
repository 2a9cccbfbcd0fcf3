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
  static constexpr std::string_view kNames[] = {"silu",         "gelu_tanh", "gelu_erf", "relu",
                                                "relu_squared", "sigmoid",   "identity", "clamped_swiglu"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view kv_type_name(KvType type) {
  static constexpr std::string_view kNames[] = {"f32", "f16", "bf16", "int8"};
  return kNames[static_cast<size_t>(type)];
}

std::string_view value_type_name(const Value& value) {
  static constexpr std::string_view kNames[] = {"f32", "int8", "int8x2"};
  return kNames[value.int8_terms];
}

std::vector<bool> used_weights(std::span<const Graph* const> graphs) {
  std::vector<bool> used(graphs.front()->weights.size(), false);
  for (const Graph* graph : graphs)
    for (const Op& op : graph->ops)
      for (const WeightId id : op.weights) used[static_cast<size_t>(id)] = true;
  return used;
}

std::vector<bool> Graph::touched_groups() const {
  std::vector<bool> touched(groups.size(), false);
  for (const Op& op : ops)
    std::visit(
        [&](const auto& attrs) {
          if constexpr (requires { attrs.group; }) touched[attrs.group] = true;
        },
        op.attrs);
  return touched;
}

bool Graph::needs_whole_texts() const {
  return std::ranges::any_of(ops, [](const Op& op) {
    return op.kind == OpKind::kPool || (op.kind == OpKind::kAttention && !op.as<AttentionAttrs>().causal);
  });
}

bool Graph::fit_context(uint32_t context) {
  bool chosen = false;
  for (Op& op : ops) {
    auto* table = std::get_if<RopeTableAttrs>(&op.attrs);
    if (table == nullptr || table->long_inv_freq.empty()) continue;
    if (context > table->long_above) table->inv_freq = table->long_inv_freq;
    table->long_inv_freq.clear();
    chosen = true;
  }
  return chosen;
}

std::vector<float> vector_values(const Weight& w) {
  const Format& format = *find_format(w.type);
  std::vector<float> all(w.data.size() / format.block_bytes * format.block_values), out(w.cols);
  format.decode(w.data.data(), all.data(), all.size());
  for (uint32_t i = 0; i < w.cols; i++) out[i] = all[w.slice.row(i)];
  return out;
}

uint64_t Weight::bytes() const {
  const Format* format = find_format(type);
  return format == nullptr ? 0 : rows * row_bytes(*format, cols);
}

}  // namespace brass
