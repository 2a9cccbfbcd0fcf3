// One step of few rows in the making: what its lowering asks of the plan, and the dispatches so far.
//
// Owns: the step's operations and operands. Must not know: which program computes what.
#pragma once

#include <string>
#include <vector>

#include "backend/vulkan/operands.h"

namespace brass::vulkan {

inline constexpr uint32_t kSharedBytes = 32 << 10;  // of a workgroup, that every device has

class DecodeStep : protected Operands {
 public:
  DecodeStep(const Target& target, const Step& step) : Operands(target), step_(step) {}
  std::vector<Dispatch> take() { return std::move(out_); }

 protected:
  static uint32_t flag(bool b) { return b ? 1 : 0; }
  static uint32_t up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit; }
  // Two strides in one word, each a multiple of 16.
  static uint32_t packed(uint32_t low, uint32_t high);

  const Op& op(size_t i) const { return d_.plan.ops[step_.ops[i]]; }
  // Which of the operations that may make up such a step it has.
  const Op* find(OpKind kind) const {
    for (size_t i = 0; i < step_.ops.size(); i++)
      if (op(i).kind == kind) return &op(i);
    return nullptr;
  }
  uint64_t at_or_0(ValueId v) const { return v >= 0 && is_stored(v) ? at(v) : 0; }
  uint32_t stride_or_0(ValueId v) const { return v >= 0 ? stride(v) : 0; }

  // `near`: Dispatch::near. Of such a dispatch the program is found once it is known whether it waits.
  Result<> add(const Op& whose, const std::string& program, const std::vector<uint32_t>& constants,
               const Push& push, uint32_t x, uint32_t y = 1, uint32_t z = 1, bool barrier = false,
               uint64_t near = 0);

  const Step& step_;
  std::vector<Dispatch> out_;
};

// Products of int8 rows, with what their program makes besides (gemv.comp), and routers.
class DecodeProducts : public DecodeStep {
 public:
  using DecodeStep::DecodeStep;

 protected:
  Result<> products();
  bool is_by_rows(const Op& o) const;
  // A product of f32, f16 or bf16 weights, of a row as it is or of what its norm makes of it.
  Result<> router(const Op& o, const Op* norm);

 private:
  struct Around;
  struct Shape;
  struct Outputs;
  Shape shape(uint32_t rows, uint32_t cols, uint32_t columns, const Around& around) const;
  Result<> product(const Op& o, const Around& around);
  Outputs outputs(const Around& around) const;
  uint32_t parts_of_layout() const;
};

}  // namespace brass::vulkan
