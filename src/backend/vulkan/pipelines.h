// What a driver makes of every program that a model's steps run, without running one.
//
// Owns: lowering for a device whose memory holds nothing. Must not know: what the figures mean: drivers have their own.
// Invariants: the programs and their constants are those of a device that runs, for it is the same lowering.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/vulkan/device.h"
#include "base/result.h"
#include "graph/graph.h"

namespace brass {

struct PipelineReport {
  std::string program;
  std::vector<uint32_t> constants;        // specialization constants 1, 2, …
  std::map<uint32_t, uint32_t> uses;      // in a step of so many rows: dispatches
  std::map<std::string, double> figures;  // by the driver's own names
};

struct PipelineQuery {
  int32_t device = -1;  // as VulkanOptions::index
  std::vector<uint32_t>
      rows;  // of the steps: one sequence's, the last one's logits wanted (up to eight: all)
  Prompts prompts = Prompts::kAutomatic;
  std::string
      matrix_layout;  // how tiles lie in a device that runs nothing (matrix_layouts.h); "": it is probed
};

struct PipelineList {
  std::string device, driver;
  uint32_t subgroup = 0;
  bool matrix_unit = false, dots = false;  // what products of many rows go by
  std::vector<PipelineReport> pipelines;   // in order of name and constants
};

// Errors: no such device, one whose driver does not describe pipelines, an unknown layout.
Result<PipelineList> list_pipelines(const std::shared_ptr<const Graph>& graph, const PipelineQuery& query);

}  // namespace brass
