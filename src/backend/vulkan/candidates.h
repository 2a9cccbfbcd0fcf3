// How candidates.comp finds the largest of a row's logits: in rounds, of parts of the row first, then of what these have left.
//
// Owns: how many rounds and parts there are, and the memory between them. Must not know: queues, how a part is searched.
// Invariants: all of it follows from the number of logits, the number wanted and the size of subgroups.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace brass::vulkan {

struct CandidateRound {
  uint32_t values;   // of a row, that it reads
  uint32_t threads;  // of a workgroup
  uint32_t parts;    // workgroups; 1 of the last round, and of no other
  uint32_t left;     // values that it leaves; of the last round those wanted
};
// `wanted`: at most kMostCandidates, and at most `values`.
std::vector<CandidateRound> candidate_rounds(uint32_t values, uint32_t wanted, uint32_t lanes);

// Bytes between the rounds: those of a plan that wants candidates.
uint64_t candidate_bytes(const Plan& plan, uint32_t lanes);

}  // namespace brass::vulkan
