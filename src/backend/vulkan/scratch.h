// What plans compute in, besides weights and pages: one set of buffers for all of them, as large as the largest needs.
//
// Owns: the sizes, known from a plan, and the buffers. Must not know: programs, what a step computes. Invariants: whoever
// asks for the sizes of plans knows to the byte what grow() takes for them; what a run leaves is good until the next.
#pragma once

#include "backend/vulkan/lowering_decode.h"

namespace brass::vulkan {

// Of the sequences that share a step.
struct StepSizes {
  uint32_t sequences = 0, groups = 0, pages = 0;  // pages: of one sequence, in a group
  bool overlap = false;                           // programs may wait inside (overlap.h)
};

struct ScratchBytes {
  uint64_t values = 0;   // of a step, and before them the counters of programs that wait inside
  uint64_t results = 0;  // those that are read behind it, for the CPU to see
  uint64_t batch = 0;    // written by the CPU
  // Of plans that choose one: results and batch of every other step, where one is begun before the last has ended.
  uint64_t results_ahead = 0, batch_ahead = 0;
  // What the first programs of an attention of few rows, of candidates, leave to the next ones.
  uint64_t partial = 0;
  PromptMemory prompt;

  // As much as both need.
  ScratchBytes operator|(const ScratchBytes& other) const;
};
ScratchBytes scratch_bytes(const Plan& plan, const PromptUnits& units, uint32_t lanes,
                           const StepSizes& sizes);

// Of a plan of few rows, pages in steps, so that its commands are good for some time.
inline uint32_t pages_of_commands(uint32_t pages) { return (pages + 3) / 4 * 4; }
uint32_t pages_reached(const Batch& batch);  // up to the furthest position

// Where the values that live to the end of a plan are copied to, in bytes.
std::map<ValueId, uint64_t> result_places(const Plan& plan);
uint64_t result_bytes(const Plan& plan);  // behind them is room for overlap.h's word
inline constexpr uint64_t kFaultBytes = 256;

class Scratch {
 public:
  // Makes room for as much; whether something moved.
  Result<bool> grow(const Context& context, const ScratchBytes& bytes);
  // Whether there is room for as much.
  bool holds(const ScratchBytes& bytes) const;
  const Buffer& values() const { return values_; }
  // By slots: 0 of all steps, 1 of every other one of those that run ahead.
  const Buffer& results(uint32_t slot) const { return slot == 0 ? results_ : results_ahead_; }
  const Buffer& batch(uint32_t slot) const { return slot == 0 ? batch_ : batch_ahead_; }
  const Buffer& partial() const { return partial_; }
  PromptMemory prompt() const;  // addresses
  // What programs write: all but the batch and the results.
  std::vector<const Buffer*> written() const;

 private:
  std::array<Buffer*, 11> all();  // in the order of each_scratch

  Buffer values_, results_, batch_, results_ahead_, batch_ahead_, partial_, weights_, rows_, scales_, lists_,
      gates_;
};

// fn(name, bytes, where it lies), buffer by buffer.
template <class Fn>
void each_scratch(const ScratchBytes& bytes, const Fn& fn) {
  fn("the values of a step", bytes.values, Memory::kOwn);
  fn("the results of a step", bytes.results, Memory::kRead);
  fn("a batch", bytes.batch, Memory::kWritten);
  fn("the results of a step ahead", bytes.results_ahead, Memory::kRead);
  fn("the batch of a step ahead", bytes.batch_ahead, Memory::kWritten);
  fn("partial results", bytes.partial, Memory::kOwn);
  fn("the weights of a product as f16", bytes.prompt.weights, Memory::kOwn);
  fn("the rows of a product", bytes.prompt.rows, Memory::kOwn);
  fn("the scales of rows", bytes.prompt.scales, Memory::kOwn);
  fn("rows by expert", bytes.prompt.lists, Memory::kOwn);
  fn("the gates of a delta rule", bytes.prompt.gates, Memory::kOwn);
}

}  // namespace brass::vulkan
