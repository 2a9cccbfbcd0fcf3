// Named fusion rules: which operations may run as one step.
//
// Owns: the list of rules and what each joins. Must not know how a device runs the joined step.
// A rule looks at steps as they are and merges neighbours; later rules match the results of earlier ones.
// Every rule can be switched off (Caps::rules). Joining never changes the order of arithmetic within an
// operation.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace brass {

struct Rule {
  std::string_view name;
  std::string_view joins;  // for people
  void (*apply)(Plan& plan);
};

// In the order in which compile applies them.
std::span<const Rule> all_rules();
// Behind those: rules for devices that pay for every step (a dispatch), whatever is in it.
std::span<const Rule> dispatch_rules();
// Whether such devices compute this attention of few rows page by page: its heads are whole vectors of four.
bool splits_over_positions(const AttentionAttrs& attention);
// Whether they share a head's state, few rows at a time, among whole groups of threads.
bool steps_by_shares(const DeltaAttrs& delta);

}  // namespace brass
