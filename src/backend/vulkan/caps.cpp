// What plans for Vulkan devices are compiled with.
#include "backend/vulkan/device.h"
#include "backend/vulkan/lowering.h"
#include "plan/rules.h"

namespace brass {

using vulkan::kFewRows;

Caps vulkan_caps(std::string_view device, KvType k, KvType v) {
  Caps caps;
  caps.name = fmt::format("vulkan {}", device);
#define BRASS_X(id, name) caps.operations.insert(OpKind::id);
  BRASS_OPERATIONS(BRASS_X)
#undef BRASS_X
  for (const Format* format : all_formats()) {
    caps.matrix_types.insert(format->type);
    if (format->group > 0) caps.int8_terms[format->type] = 1;
  }
  caps.rules = {"glu",
                "glu_quant",
                "linear_residual",
                "same_input",
                "head_rope_write",
                "moe_glu",
                "moe_glu_quant",
                "attention_blocks_quant",
                "norm_quant",
                "add_norm",
                "gate_quant",
                "delta_gate_quant",
                "combine_add",
                "head_rope_write_attend",
                kFoldNorm,
                kNormLinear,
                kRouteGlu,
                kLinearConv};
  caps.int8_rows = caps.rule_rows = kFewRows;
  caps.joins_any_product = false;
  caps.kv = {kv_value_bytes(k), kv_value_bytes(v)};
  caps.own_memory = caps.runs_ahead = true;
  return caps;
}

}  // namespace brass
