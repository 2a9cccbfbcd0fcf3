// From the operations of a plan to dispatches, for one batch.
//
// Owns: which program computes an operation, its constants and its grid. Must not know: queues, memory management.
// Invariants: a dispatch touches only what its step declares; rows that the batch does not have are not computed.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "backend/vulkan/memory.h"
#include "backend/vulkan/programs.h"

namespace brass::vulkan {

// Push constants in the order of the shader's block: addresses 8 bytes, numbers 4, each aligned to its size.
class Push {
 public:
  template <class T>
  Push& operator<<(T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    std::memcpy(bytes_.data() + at_, &value, sizeof(T));
    at_ += sizeof(T);
    return *this;
  }
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::array<std::byte, kPushBytes> bytes_{};
  size_t at_ = 0;
};

struct Dispatch {
  VkPipeline pipeline;
  Push push;
  uint32_t x, y, z;
  bool barrier;         // waits for all before it
  std::string program;  // its name
};

// Rows of one sequence in a step, and its pages of states.
struct Part {
  int32_t begin, end, from, to;
};

// Where the batch's numbers lie in its buffer, as indices of int32.
struct BatchLayout {
  uint32_t sequences = 0, positions = 0, ids = 0, rows = 0, snapshots = 0, starts = 0, pages = 0, parts = 0;
  // Of each row: the last position that its sequence has in the step; 0. Of each wanted row: its sequence's first row,
  // and how many it has.
  uint32_t newest = 0, zeros = 0, runs = 0;
  uint32_t hidden = 0;  // f32 values of hidden_in's rows
  std::vector<int32_t> data;
  // Parts in waves: none reads a page of states that an earlier wave has written, or one of its own writes.
  std::vector<std::pair<uint32_t, uint32_t>> waves;  // begin, count

  // All that commands depend on: equal ones may run again with other data.
  std::vector<uint32_t> key() const;
};
BatchLayout lay_out(const Batch& batch, size_t groups);

struct Target {
  const Plan& plan;
  const Weights& weights;
  const std::vector<PagePool>& pools;
  Programs& programs;
  const std::map<const Op*, uint64_t>& frequencies;  // of each rope_table
  uint64_t arena;                                    // address
  uint64_t batch;                                    // address of the layout's data
  const BatchLayout& layout;
  uint32_t t, r;     // rows that the batch has
  uint64_t partial;  // attention of few rows: what its first program leaves; 0: there is none
  uint32_t pages;    // that it has room for
};

Result<std::vector<Dispatch>> lower(const Target& target, const Op& op);

}  // namespace brass::vulkan
