// Where the operands of an operation lie on the device.
//
// Owns: addresses and strides from a plan's places. Must not know: programs. Invariants: strides of f32 values are
// multiples of 16, those of codes of 64 bytes.
#pragma once

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

// As kv.glsl has them.
inline uint32_t number(KvType type) { return static_cast<uint32_t>(type); }

struct Int8Rows {
  uint64_t codes = 0, pairs = 0;  // addresses
  uint64_t squares = 0;           // of values that lack their norm's factor (Placed::norm), rows as pairs
  uint32_t code_stride = 0, pair_stride = 0;  // bytes; pairs
};

// Where the batch says up to which position each row of an attention sees. A row that sees all stands at the last one; what
// depends on its own position is another matter.
inline Result<uint32_t> positions_seen(const Target& target, const Op& op) {
  const auto& a = op.as<AttentionAttrs>();
  if (!a.causal && a.temperature != 0)
    return fail("{}: attention both ways with a temperature is not supported on Vulkan", op.name);
  return a.causal ? target.layout.positions : target.layout.newest;
}

class Operands {
 public:
  explicit Operands(const Target& target) : d_(target) {}

  uint64_t at(ValueId v) const { return d_.address(v); }
  uint32_t stride(ValueId v) const { return d_.plan.place(v).stride; }
  uint32_t width(ValueId v) const { return d_.plan.value(v).width; }
  uint32_t rows(ValueId v) const { return d_.plan.value(v).rows == Rows::kT ? d_.t : d_.r; }
  bool is_stored(ValueId v) const { return d_.plan.place(v).storage != Storage::kInternal; }
  bool is_int8(ValueId v) const { return d_.plan.value(v).quantized(); }
  Int8Rows int8(ValueId v) const {
    const Value& value = d_.plan.value(v);
    const QuantizedLayout layout = quantized_layout(
        value.width, value.rows == Rows::kT ? d_.plan.key.t : d_.plan.key.r, value.int8_terms);
    return {at(v), at(v) + layout.scales, at(v) + layout.bytes, static_cast<uint32_t>(layout.code_stride),
            static_cast<uint32_t>(layout.scale_stride)};
  }
  const GpuWeight& gpu(const Op& op, size_t i) const { return d_.weights[op.weights[i]]; }
  const Weight& file(const Op& op, size_t i) const { return d_.plan.weight(op.weights[i]); }
  uint64_t vector_or_0(const Op& op, size_t i) const {
    return op.weights.size() > i ? gpu(op, i).address : 0;
  }
  uint64_t batch(uint32_t index) const { return d_.batch + uint64_t{4} * index; }

 protected:
  const Target& d_;
};

}  // namespace brass::vulkan
