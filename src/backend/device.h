// What a backend is: it takes weights and plans, and runs plans over batches.
//
// Owns: the interface between runtime and backends, the batch, page operations. The whole of it: a backend
// has no other door. Must not know: GGUF, model names, tokens' text. Invariants: weights are uploaded once,
// before any plan; a plan is prepared once and run many times; what changes from step to step is all in the
// Batch. A device owns the layout inside a KV page; ids and tables are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace brass {

inline constexpr uint32_t kPageTokens = 64;  // positions in one page of a group

using PageId = int32_t;  // −1: no page (positions that a window has passed)

// The pages of one sequence in one group: entry i holds positions [64 i, 64 i + 64).
using PageTable = std::span<const PageId>;

// The pages of the state group that one sequence's step reads (−1: the text begins, zeros) and writes; may be equal.
struct StatePages {
  PageId in = -1, out = -1;
};

// One step's data. Rows of a sequence stand together, in order of position; where a graph needs whole texts, all of
// a sequence's tokens are rows of the step.
struct Batch {
  std::span<const int32_t> ids;        // [T]
  std::span<const int32_t> positions;  // [T]
  std::span<const int32_t> sequences;  // [T] index into page_tables' sequences; −1: padding, writes nothing
  std::span<const int32_t> rows;       // [R] rows of T whose output is wanted
  std::span<const PageTable> page_tables;  // [sequence · groups + group]; empty tables for a state group
  std::span<const StatePages> states;      // [sequence], where the graph has a state group
  // [T] page of the state group that also gets the state after this row, −1: none; or empty: none at all
  std::span<const PageId> snapshots;
  std::span<const float> hidden;  // [T][width], where the graph reads hidden rows (hidden_in); else empty
};

struct PoolSpec {  // of one memory group
  uint32_t pages;
  KvType k_type, v_type;
};

// What a device reaches when nothing but memory, or nothing but products, is at work: ceilings for reports.
struct DeviceProbe {
  double bandwidth;  // bytes a second, read from memory
  double int8_ops,
      f32_ops;  // multiplications and additions a second, of products whose operands are in caches
};

// What will be asked of a device: the weights of graphs (one list), pages, plans; `positions` of each of `sequences`.
struct MemoryUse {
  std::span<const Graph* const> graphs;
  std::span<const PoolSpec> pools;
  std::span<const std::shared_ptr<const Plan>> plans;  // the others need no more than these
  uint32_t sequences, positions;
};

// What that takes of the device's own memory, to the byte, and what the device has for it.
struct MemoryNeed {
  struct Part {
    std::string_view name;
    uint64_t bytes;
    bool elsewhere = false;  // in the machine's memory, and not counted
  };
  std::vector<Part> parts;
  uint64_t available = 0;

  uint64_t total() const {
    uint64_t sum = 0;
    for (const Part& part : parts) sum += part.elsewhere ? 0 : part.bytes;
    return sum;
  }
  bool fits() const { return total() <= available; }
};

using PlanHandle = int32_t;
using Progress = std::function<void(uint64_t done, uint64_t total)>;  // bytes; may be empty

class Device {
 public:
  virtual ~Device() = default;

  virtual const Caps& caps() const = 0;
  virtual std::string describe() const = 0;  // "cpu avx512-vnni, 2 threads"

  // The plan that prepare() takes. `without`: rules that are switched off.
  virtual Result<std::shared_ptr<const Plan>> compile(std::shared_ptr<const Graph> graph, PlanKey key,
                                                      std::span<const std::string> without = {}) {
    Caps own = caps();
    for (const std::string& rule : without) own.rules.erase(rule);
    return brass::compile(std::move(graph), key, own);
  }

  // Takes the weights that the graphs read, which are one list, in the layout that this device reads for what they do with
  // them. `release(weight)` is called when the bytes of a weight are no longer needed (a device that reads them in
  // place never calls it). Non-finite values are an error that names the tensor.
  virtual Result<> upload(std::span<const Graph* const> graphs, const Progress& progress,
                          const std::function<void(const Weight&)>& release) = 0;
  Result<> upload(const Graph& graph, const Progress& progress,
                  const std::function<void(const Weight&)>& release) {
    const Graph* const one[] = {&graph};
    return upload(one, progress, release);
  }
  // Allocates the pages of every group of the graph.
  virtual Result<> allocate(const Graph& graph, std::span<const PoolSpec> pools) = 0;
  static uint64_t page_positions() { return kPageTokens; }
  virtual uint64_t page_bytes(const MemoryGroup& group, KvType k_type, KvType v_type) const = 0;

  // Devices with memory of their own (Caps::own_memory). reserve() makes room for what plans compute in, so that later
  // steps take no more; memory_taken() is what they have now.
  virtual Result<MemoryNeed> memory_need(const MemoryUse&) const { return MemoryNeed{}; }
  virtual Result<> reserve(const MemoryUse&) { return {}; }
  virtual uint64_t memory_taken() const { return 0; }

  virtual Result<PlanHandle> prepare(std::shared_ptr<const Plan> plan) = 0;
  // Runs every step. Fails when the device is lost, or the bytes of a weight read in place are gone.
  virtual Result<> run(PlanHandle plan, const Batch& batch) = 0;
  // Steps that are begun before the one behind which they come has ended, on devices that say so (Caps::runs_ahead), of
  // plans that choose one: begin() returns at once, finish() waits for the oldest step under way, which is then the last run.
  // Two can be under way. `follows`: it stands behind the step that was begun last, of the same plan, and its rows' tokens
  // are the choices of that one, row by row, whatever batch.ids says. False: it cannot be begun now. run(), and a step
  // that does not follow, wait for what is under way, and what that made is gone.
  virtual Result<bool> begin(PlanHandle, const Batch&, [[maybe_unused]] bool follows) {
    return fail("{} does not run ahead", describe());
  }
  virtual Result<> finish() { return fail("{} does not run ahead", describe()); }
  // Row r of a value of the last run that is still live at the end of the plan (the output), [width].
  virtual std::span<const float> read(PlanHandle plan, ValueId value, uint32_t row) = 0;

  virtual void copy_page(uint32_t group, PageId from, PageId to) = 0;
  // The first `positions` positions of the page; what `to` holds behind them is undefined afterwards.
  virtual void copy_part(uint32_t group, PageId from, PageId to, uint32_t positions) = 0;
  // Canonical rows of a page, f32: for each layer [64][heads · k_dim] then [64][heads · v_dim]; of a state group the
  // states of its layers.
  virtual std::vector<float> export_page(uint32_t group, PageId page) const = 0;
  virtual void import_page(uint32_t group, PageId page, std::span<const float> rows) = 0;

  // Seconds that each step of the last run took, when timing is on.
  virtual void set_timing(bool on) = 0;
  virtual std::span<const double> step_seconds() const = 0;
  // Measures now, with all the threads that run() uses; takes about half a second. An error where it cannot be done.
  virtual Result<DeviceProbe> probe() { return fail("{} has no probes", describe()); }
};

}  // namespace brass
