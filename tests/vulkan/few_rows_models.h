// Tiny models of the kinds that steps of few rows differ in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device_harness.h"

namespace brass {

inline TinyModel wide_model() {  // experts and heads in whole blocks of int8
  return {.d = 256,
          .q_heads = 8,
          .kv_heads = 1,
          .ffn = 288,
          .attention = Type::Q8_0,
          .value = Type::Q8_0,
          .down = Type::Q5_0,
          .experts = 6,
          .used = 2};
}

inline TinyModel lone_expert_model() {
  TinyModel model = wide_model();
  model.experts = 11;
  model.used = 3;
  model.lone_experts = true;
  return model;
}

inline std::vector<std::pair<std::string, TinyModel>> few_rows_models() {
  return {{"qwen", qwen_like()},      {"gemma", gemma_like()},        {"sinks", sink_like()},
          {"ragged", ragged_model()}, {"wide experts", wide_model()}, {"lone experts", lone_expert_model()}};
}

}  // namespace brass
