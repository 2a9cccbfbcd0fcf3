// An operation of many rows in the making: what its products have in common, by whatever they multiply.
//
// Owns: rows of x as these products read them, rows by expert, both in scratch memory. Must not know: which program
// multiplies. Invariants: scratch memory is written again only where something else is in it (PromptUse).
#pragma once

#include "backend/vulkan/emit.h"

namespace brass::vulkan {

inline uint32_t divide_up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit; }
inline uint32_t round_up(uint32_t n, uint32_t unit) { return divide_up(n, unit) * unit; }

inline bool is_dense_product(const Op& op) {
  return op.kind == OpKind::kLinear || op.kind == OpKind::kLmHead;
}
inline bool is_product(const Op& op) { return is_dense_product(op) || op.kind == OpKind::kMoeLinear; }

// Places in the lists of rows by expert, as indices of int32. run: most rows of an expert that are multiplied together.
struct ExpertLists {
  uint32_t experts, entries, run;
  uint32_t order() const { return experts; }
  uint32_t tiles() const { return experts + entries; }
  uint32_t tile_count() const { return entries / run + experts; }
  uint64_t bytes() const { return 4 * (uint64_t{tiles()} + 3 * tile_count()); }
};

class PromptStep : public Emit {
 public:
  using Emit::Emit;
  virtual ~PromptStep() = default;

 protected:
  // The program that makes rows of x for the product, of whole times so many columns.
  struct RowProgram {
    std::string_view name;
    uint32_t columns;
  };
  virtual RowProgram row_program() const = 0;
  // Whether this product, of the plan, is one of theirs.
  virtual bool multiplies(const Op& op) const = 0;

  // The first input as rows for the product, unless they are there from an operation before. Whether something was added.
  Result<bool> make_input_rows(uint32_t cols, uint32_t parts);
  // Whether an operation act(gate) · up can leave its result as such rows, for nothing but one product reads it.
  bool makes_rows() const { return only_reader() != nullptr; }
  Result<> act_mul();
  // Whether something was added.
  Result<bool> group_rows(const ExpertAttrs& a, const ExpertLists& lists);

 private:
  const Op* only_reader() const;
  Result<> make_rows(ValueId x, ValueId up, uint32_t kind, uint32_t cols, uint32_t parts);
};

}  // namespace brass::vulkan
