// A plan with memory for its values.
//
// Owns: the arena, the buffers of values that live inside one step, and where each value lies in them.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "backend/device.h"

namespace brass::ref {

// `n` rows of a value, f32.
struct RowsView {
  float* data;
  size_t stride;
  uint32_t n, width;
  float* row(uint32_t i) const { return data + i * stride; }
};

// The same of a quantized value: codes, those of the second term where there is one (else null) and, per 32 values, scale
// and scale · Σ codes.
struct QuantizedView {
  int8_t *codes, *seconds;
  float *scale, *sum;
  size_t code_stride, scale_stride;
  uint32_t n, width;
};

class Prepared {
 public:
  explicit Prepared(std::shared_ptr<const Plan> plan);

  const Plan& plan() const { return *plan_; }
  // As many rows as the batch has, not as the plan has room for.
  RowsView rows(ValueId v, const Batch& batch) const;
  QuantizedView quantized(ValueId v, const Batch& batch) const;
  float* row(ValueId v, uint32_t r) const;
  // Gives every thread's copy of a private value what the first one holds, and nothing of what lies between.
  void copy_private(ValueId v, const Batch& batch) const;

 private:
  using Bytes = std::unique_ptr<std::byte, decltype(&std::free)>;
  static Bytes zeros(uint64_t bytes);
  std::byte* base(ValueId v) const;
  uint32_t used_rows(ValueId v, const Batch& batch) const;

  std::shared_ptr<const Plan> plan_;
  std::vector<uint64_t> internal_offset_;  // of values that live inside a step
  Bytes arena_, internal_;
};

}  // namespace brass::ref
