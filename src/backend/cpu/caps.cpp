// What plans for the CPU are compiled with, and its tiers by name.
#include "backend/cpu/device.h"
#include "backend/cpu/kernels.h"

namespace brass {
namespace cpu {
namespace {

Caps caps_of(const Kernels& kernels, uint32_t threads, KvType k_type, KvType v_type) {
  Caps caps{.name = fmt::format("cpu {}", kernels.name),
            .threads = threads,
            .private_rows = 4,
            .kv = {kv_value_bytes(k_type), kv_value_bytes(v_type)}};
  for (const OpKind op :
       {OpKind::kEmbed,     OpKind::kGatherRows, OpKind::kRmsNorm,    OpKind::kLayerNorm, OpKind::kHeadNorm,
        OpKind::kLinear,    OpKind::kAct,        OpKind::kConcat,     OpKind::kSlice,     OpKind::kLmHead,
        OpKind::kActMul,    OpKind::kMoeRoute,   OpKind::kHeadLinear, OpKind::kMoeLinear, OpKind::kMoeCombine,
        OpKind::kRopeTable, OpKind::kRope,       OpKind::kKvWrite,    OpKind::kAttention, OpKind::kConv1d,
        OpKind::kDeltaNet,  OpKind::kSsmScan,    OpKind::kAdd,        OpKind::kScale,     OpKind::kSoftcap,
        OpKind::kQuantAct,  OpKind::kPool,       OpKind::kHiddenIn})
    caps.operations.insert(op);
  caps.rules = {
      "glu", "glu_quant", "linear_residual", "same_input", "head_rope_write", "attention_quant", "row_chain"};
  for (const Format* f : all_formats()) {
    if (!kernels.can_pack(f->type)) continue;
    caps.matrix_types.insert(f->type);
    if (const uint8_t terms = kernels.int8_terms(f->type)) caps.int8_terms[f->type] = terms;
  }
  return caps;
}

}  // namespace
}  // namespace cpu

std::string cpu_tier_names() {
  std::string names;
  for (const cpu::Kernels* k : cpu::all_kernels())
    names += (names.empty() ? "" : ", ") + std::string(k->name);
  return names;
}

Result<Caps> cpu_caps(const std::string& isa, uint32_t threads, KvType k_type, KvType v_type) {
  const cpu::Kernels* kernels = cpu::pick_kernels(isa.empty() ? nullptr : isa.c_str());
  if (kernels == nullptr)
    return fail_hint("tiers of this build: " + cpu_tier_names(), "flag --isa: '{}' is unknown", isa);
  return cpu::caps_of(*kernels, threads, k_type, v_type);
}

}  // namespace brass
