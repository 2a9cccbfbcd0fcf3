// What an engine takes of its device's memory, known before anything is allocated, and what would fit where it does not.
//
// Owns: the sizes of pools, the largest plans, the arithmetic of what fits. Must not know: how a device lays things out.
// Invariants: the pools and plans here are those that the engine makes.
#pragma once

#include "backend/device.h"
#include "model/model.h"
#include "runtime/engine_options.h"

namespace brass {

// The trunk and the drafts, for this context.
std::vector<std::shared_ptr<const Graph>> fitted_graphs(const Model& model, uint32_t context);

// Options with nothing left open: the context and the chunk that an engine of this model has. Errors: more context than
// the model was made for.
Result<EngineOptions> settle(const Model& model, EngineOptions options);

// Pages of each group.
std::vector<PoolSpec> pool_specs(const Graph& graph, const EngineOptions& settled);

class MemoryPlan {
 public:
  // Compiles the plans that need most, where the device has memory of its own.
  static Result<MemoryPlan> create(std::vector<std::shared_ptr<const Graph>> graphs, Device& device,
                                   const EngineOptions& settled);

  struct Compiled {
    size_t graph;  // index: the trunk, then the drafts
    std::shared_ptr<const Plan> plan;
  };
  const std::vector<Compiled>& plans() const { return plans_; }

  Result<MemoryNeed> need(const Device& device) const { return need(device, options_); }
  Result<> reserve(Device& device) const;
  // Fails where the device has too little, with the figures and what would fit (Error::no_room).
  Result<> check(const Device& device) const;
  // The largest context up to `most` that fits, in whole pages; 0: none.
  Result<uint32_t> largest_context(const Device& device, KvType k, KvType v, uint32_t most) const;

 private:
  template <class Fn>
  auto with_use(const EngineOptions& options, const Fn& fn) const;
  Result<MemoryNeed> need(const Device& device, const EngineOptions& options) const;
  Result<std::string> remedies(const Device& device) const;

  std::vector<std::shared_ptr<const Graph>> graphs_;
  std::vector<Compiled> plans_;
  EngineOptions options_;
};

}  // namespace brass
