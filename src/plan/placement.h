// Which of two devices does which part of a model, and the graphs that come of it.
//
// Owns: placing operations, cutting a graph into segments, what goes from one to another. Must not know: how a device
// runs a step, which kinds of device there are. Invariants: the segments hold every operation once (those without inputs
// and weights: wherever their result is read), in an order that respects data and memory; a layer's memory is touched by
// one device only; rows whose output is wanted (Rows::kR: the head, and most of the last block) are made by device 0 in
// the last segment. Segments keep the numbers of the
// graph's weights and memory groups, so a device's segments share one list of each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace brass {

// 0: the device that has most to give (a GPU), 1: the one with most memory (the machine's).
using DeviceIndex = uint32_t;

struct Placement {
  uint32_t first_layers =
      0;  // blocks from the model's beginning that device 1 does; the rest and the head are 0's
  uint32_t first_experts =
      0;  // blocks from the beginning whose experts device 1 does, wherever their rest is
  bool operator==(const Placement&) const = default;
};

// Of each operation, its device. What stands outside of the blocks goes with its neighbours; where attention reads the
// memory that another layer writes, it goes with that layer.
std::vector<DeviceIndex> place_operations(const Graph& graph, const Placement& placement);

// A value that one segment makes and a later one reads: columns of the rows that the former leaves (Graph::hidden).
struct Wire {
  static constexpr int32_t kBatch = -1;  // it comes with the batch (hidden_in of the whole graph)
  int32_t from = kBatch;                 // segment
  uint32_t column = 0, width = 0;
};

struct GraphSegment {
  DeviceIndex device;
  std::shared_ptr<const Graph>
      graph;  // reads its wires, side by side, as hidden_in; leaves what others read as hidden
  std::vector<Wire> in;
};

struct Segments {
  std::vector<GraphSegment> list;  // in order of execution
  uint32_t output = 0;             // the one whose graph has the whole graph's logits or embeddings
  Wire hidden;                     // the whole graph's hidden rows, where it has them
};

Segments cut(const Graph& graph, std::span<const DeviceIndex> devices);

// The memory groups of graphs that share them, of which a layer that none of them touches keeps nothing: no heads, no
// state.
std::vector<MemoryGroup> groups_within(std::span<const Graph* const> graphs);

}  // namespace brass
