// What devices say of themselves, as data, for plans without a device.
#pragma once

#include "plan/rules.h"

namespace brass {

inline Caps every_operation(std::string name) {
  Caps caps;
  caps.name = std::move(name);
#define BRASS_X(id, op) caps.operations.insert(OpKind::id);
  BRASS_OPERATIONS(BRASS_X)
#undef BRASS_X
  for (const Format* format : all_formats()) caps.matrix_types.insert(format->type);
  return caps;
}

// One operation a step, f32 activations.
inline Caps plain_profile() { return every_operation("plain"); }

// A CPU with int8 products (of Q8_0 of two terms), every rule, private copies, f16 KV.
inline Caps fused_profile(uint32_t threads = 2) {
  Caps caps = every_operation("fused");
  for (const Rule& rule : all_rules()) caps.rules.insert(rule.name);
  for (const Format* format : all_formats())
    if (format->group > 0) caps.int8_terms[format->type] = format->type == Type::Q8_0 ? 2 : 1;
  caps.threads = threads;
  caps.private_rows = 4;
  caps.kv = {2, 2};
  return caps;
}

// A GPU: int8 products and joined steps of up to eight rows, products joined where one program can make both.
inline Caps dispatch_profile() {
  Caps caps = fused_profile(1);
  caps.name = "dispatch";
  caps.private_rows = 0;
  caps.rules.erase("row_chain");
  caps.rules.erase("attention_quant");
  for (const Rule& rule : dispatch_rules()) caps.rules.insert(rule.name);
  caps.int8_rows = caps.rule_rows = 8;
  for (auto& [type, terms] : caps.int8_terms) terms = 1;
  caps.joins_any_product = false;
  return caps;
}

inline Caps without_rules(Caps caps) {
  caps.rules.clear();
  return caps;
}

}  // namespace brass
