// Programs of few rows that wait for one another inside, where else a barrier would stand between them: the workgroups of a
// later one start while those of an earlier one end, and load their first weights meanwhile.
//
// Owns: which dispatches do so, and the counters that they wait for. Must not know: what programs compute, submissions.
// Invariants: a chain and nothing else: all dispatches between two places of barriers wait for all dispatches between the
// two places before, each of whose workgroups has waited too. So whatever barriers order, it orders. Vulkan does not promise
// that workgroups that wait leave room for those they wait for, so waiting ends (shaders/overlap.glsl), and whoever waited
// in vain leaves a word in the results: what the step made is nothing then.
#pragma once

#include "backend/vulkan/lowering.h"

namespace brass::vulkan {

// Of all counters of a plan's steps, before the arena; 0: steps of many rows.
uint64_t counter_bytes(const Plan& plan);

// Links what can be, whose barriers go: finds the programs that DecodeStep::add left open. Of each counter, how many
// workgroups it waits for; 0: it is not used.
Result<std::vector<uint32_t>> overlap(const Target& target, std::vector<std::vector<Dispatch>>& steps);

// Before the first dispatch of each submission: counters at the begin of `values`. `fault`: the address of the word.
void set_counters(VkCommandBuffer commands, const Buffer& values, std::span<const uint32_t> counts,
                  uint64_t fault);

// Whether a step that waited in vain can run again: no row of it reads a state that it has written.
bool can_run_again(const BatchLayout& layout, uint32_t rows);

}  // namespace brass::vulkan
