// From the operations of a plan to dispatches, for one batch.
//
// Owns: which program computes an operation, its constants and its grid. Must not know: queues, memory management.
// Invariants: a dispatch touches only what its step declares; rows that the batch does not have are not computed.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include "backend/vulkan/pages.h"
#include "backend/vulkan/programs.h"
#include "backend/vulkan/prompt.h"
#include "backend/vulkan/weights.h"

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
  // Into the last four bytes, which the block leaves free or names so.
  void put_last(uint32_t value) { std::memcpy(bytes_.data() + kPushBytes - 4, &value, 4); }
  const std::byte* data() const { return bytes_.data(); }

 private:
  std::array<std::byte, kPushBytes> bytes_{};
  size_t at_ = 0;
};

// Most rows of a step for the programs of few rows (lowering_decode.h), and of a plan whose products read int8; steps of more
// go by the matrix unit (prompt.h), by packed dot products (dots.h) or by plain programs.
inline constexpr uint32_t kFewRows = 8;

struct Dispatch {
  VkPipeline pipeline;
  Push push;
  uint32_t x, y, z;
  bool barrier;                          // waits for all before it
  std::string program;                   // its name
  std::vector<uint32_t> constants = {};  // 1, 2, …
  // Of programs that can wait inside (overlap.h): the address of the step's values by which they find their counter; 0: others.
  uint64_t near = 0;
};
void dispatch(VkCommandBuffer commands, VkPipelineLayout layout, const Dispatch& d);

// Rows of one sequence in a step, and its pages of states.
struct Part {
  int32_t begin, end, from, to;
};

inline constexpr uint32_t kRowsOfTile = 64;  // of attention over many rows

// Where the batch's numbers lie in its buffer, as indices of int32.
struct BatchLayout {
  uint32_t sequences = 0, positions = 0, ids = 0, rows = 0, snapshots = 0, starts = 0, pages = 0, parts = 0;
  // Of each row: the last position that its sequence has in the step; 0. Of each wanted row: its sequence's first row,
  // and how many it has.
  uint32_t newest = 0, zeros = 0, runs = 0;
  uint32_t hidden = 0;  // f32 values of hidden_in's rows
  // Runs of at most kRowsOfTile rows of one sequence: first row, number of rows.
  uint32_t tiles = 0, tile_count = 0;
  std::vector<int32_t> data;
  // Parts in waves: none reads a page of states that an earlier wave has written, or one of its own writes.
  std::vector<std::pair<uint32_t, uint32_t>> waves;  // begin, count

  // All that commands depend on: equal ones may run again with other data.
  std::vector<uint32_t> key() const;
};
// `pools`: of each group; what programs read names pages by their numbers there.
BatchLayout lay_out(const Batch& batch, std::span<const PagePool> pools);

struct Target {
  const Plan& plan;
  const Weights& weights;
  const std::vector<PagePool>& pools;
  Programs& programs;
  uint64_t arena;  // address
  uint64_t batch;  // address of the layout's data
  const BatchLayout& layout;
  const PromptUnits& units;
  PromptMemory memory;  // addresses
  PromptUse& use;
  uint32_t t, r;  // rows that the batch has
  // Of a plan that chooses: where the CPU finds the choices, as f32 in rows of the value; where the step behind it its tokens
  // (0: nowhere).
  uint64_t choices, next_ids;
  uint64_t partial;          // what a step's first programs leave to its next ones; 0: there is no room
  uint32_t pages;            // that it has room for
  uint64_t counters = 0;     // address, before the arena; 0: barriers alone (overlap.h)
  int64_t faulty_wait = -1;  // tests: which one is in vain
  // The first operand asked for that stays inside its step, so that nothing can read it: the plan is wrong. -1: none.
  mutable ValueId unplaced = -1;

  uint64_t address(ValueId v) const {
    if (unplaced < 0 && plan.place(v).storage == Storage::kInternal) unplaced = v;
    return arena + plan.place(v).offset;
  }
};

Result<std::vector<Dispatch>> lower(const Target& target, const Op& op);

}  // namespace brass::vulkan
