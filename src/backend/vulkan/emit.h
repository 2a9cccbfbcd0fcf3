// Dispatches of one operation in the making: what every lowering asks of the plan and the batch.
//
// Owns: how operands become addresses, strides and widths. Must not know: which program computes what.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

inline constexpr uint32_t kThreads = 64;       // of a workgroup, where the program asks for no more
inline constexpr uint32_t kMaxGroups = 65535;  // in one direction, that every device has

// Workgroups that fill a device; where large ones are fewer, small ones are faster.
inline constexpr uint32_t kEnoughGroups = 256;

inline uint32_t groups_of(uint32_t n) { return (n + kThreads - 1) / kThreads; }
inline uint32_t flag(bool b) { return b ? 1 : 0; }

// The program that is made for each format: "matmul_q4_k".
std::string program_of(std::string_view program, Type type);

class Emit {
 public:
  Emit(const Target& target, const Op& op) : d_(target), op_(op) {}

 protected:
  uint64_t at(ValueId v) const { return d_.address(v); }
  uint64_t in(size_t i) const { return at(op_.in[i]); }
  uint64_t in_or_0(size_t i) const { return op_.in.size() > i ? in(i) : 0; }
  uint64_t out() const { return at(op_.out[0]); }
  uint32_t stride(ValueId v) const { return d_.plan.place(v).stride; }
  uint32_t in_stride(size_t i) const { return op_.in.size() > i ? stride(op_.in[i]) : 0; }
  uint32_t out_stride() const { return stride(op_.out[0]); }
  uint32_t width(ValueId v) const { return d_.plan.value(v).width; }
  uint32_t out_width() const { return width(op_.out[0]); }
  uint32_t rows(ValueId v) const { return d_.plan.value(v).rows == Rows::kT ? d_.t : d_.r; }
  uint32_t out_rows() const { return rows(op_.out[0]); }
  const GpuWeight& gpu(size_t i) const { return d_.weights[op_.weights[i]]; }
  const Weight& file(size_t i) const { return d_.plan.weight(op_.weights[i]); }
  uint64_t vector_or_0(size_t i) const { return op_.weights.size() > i ? gpu(i).address : 0; }
  uint64_t batch(uint32_t index) const { return d_.batch + uint64_t{4} * index; }

  std::string by_format(std::string_view program, size_t weight) const {
    return program_of(program, file(weight).type);
  }
  static void push_slice(Push& push, const RowSlice& slice) {
    push << slice.first << slice.run << slice.stride;
  }

  Result<> add(const std::string& program, const std::vector<uint32_t>& constants, const Push& push,
               uint32_t x, uint32_t y = 1, uint32_t z = 1, bool barrier = false);
  void append(std::vector<Dispatch> more);
  std::vector<Dispatch> take() { return std::move(out_); }

  const Target& d_;
  const Op& op_;

 private:
  std::vector<Dispatch> out_;
};

}  // namespace brass::vulkan
