// What a plan would take on a card that nobody has here: bytes by its memory, arithmetic by its units, and what a step waits for
// the one before. A prediction, made to be judged by the first who has the card.
//
// Owns: the table of cards, the shares of a unit that programs reach, the sum. Must not know: devices that are there.
// Invariants: bytes and flops are the plan's; a step takes the longer of memory and arithmetic, and its hops.
#pragma once

#include <span>
#include <string_view>

#include "plan/plan.h"

namespace brass {

struct AssumedDevice {
  std::string_view name, title;
  double bandwidth;     // bytes a second, as published
  double read_share;    // of it that a loop that only reads gets
  double matrix_flops;  // a second, f16 summed in f32, as published; 0: there is no matrix unit
  double f32_flops;     // a second, of the vector units, as published
  double hop;           // seconds that a step pays for waiting for the one before it
  double issue;         // seconds of a step that waits for nothing
  bool
      tiles_made;  // weights of prompts are made f16 tiles in memory first, as they do not lie as the unit wants them
};
std::span<const AssumedDevice> assumed_devices();
const AssumedDevice* find_assumed_device(std::string_view name);  // nullptr: there is none

struct StepPrediction {
  double memory = 0, arithmetic = 0, waiting = 0;  // seconds
  double seconds() const { return (memory > arithmetic ? memory : arithmetic) + waiting; }
};

// [step]; depth: positions cached before it.
std::vector<StepPrediction> predict(const Plan& plan, const AssumedDevice& device, uint64_t t, uint64_t r,
                                    uint64_t depth);

}  // namespace brass
