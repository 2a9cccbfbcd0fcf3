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
};

struct ScratchBytes {
  uint64_t values = 0;   // of a step
  uint64_t results = 0;  // those that are read behind it, for the CPU to see
  uint64_t batch = 0;    // written by the CPU
  uint64_t partial = 0;  // attention of few rows: what its first program leaves to the second
  PromptMemory prompt;

  // As much as both need.
  ScratchBytes operator|(const ScratchBytes& other) const;
};
ScratchBytes scratch_bytes(const Plan& plan, const MatrixUnit& unit, const StepSizes& sizes);

// Of a plan of few rows, pages in steps, so that its commands are good for some time.
inline uint32_t pages_of_commands(uint32_t pages) { return (pages + 3) / 4 * 4; }

// Where the values that live to the end of a plan are copied to, in bytes.
std::map<ValueId, uint64_t> result_places(const Plan& plan);

class Scratch {
 public:
  // Makes room for as much; whether something moved.
  Result<bool> grow(const Context& context, const ScratchBytes& bytes);
  const Buffer& values() const { return values_; }
  const Buffer& results() const { return results_; }
  const Buffer& batch() const { return batch_; }
  const Buffer& partial() const { return partial_; }
  PromptMemory prompt() const;  // addresses
  // What programs write: all but the batch and the results.
  std::vector<const Buffer*> written() const;

 private:
  Buffer values_, results_, batch_, partial_, weights_, rows_, scales_, lists_, gates_;
};

// fn(name, bytes, whether the CPU sees it), buffer by buffer.
template <class Fn>
void each_scratch(const ScratchBytes& bytes, const Fn& fn) {
  fn("the values of a step", bytes.values, false);
  fn("the results of a step", bytes.results, true);
  fn("a batch", bytes.batch, true);
  fn("attention's partial results", bytes.partial, false);
  fn("the weights of a product as f16", bytes.prompt.weights, false);
  fn("the rows of a product as f16", bytes.prompt.rows, false);
  fn("the scales of rows", bytes.prompt.scales, false);
  fn("rows by expert", bytes.prompt.lists, false);
  fn("the gates of a delta rule", bytes.prompt.gates, false);
}

}  // namespace brass::vulkan
