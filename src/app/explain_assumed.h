// What explain --assume prints: the time that a plan would take on a card that is not here.
//
// Owns: its text and JSON. Must not know: devices that are there. Invariants: whatever is printed says that it is predicted.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "plan/predict.h"

namespace brass::app {

struct PhaseSizes {
  uint32_t t, r, depth;
};

// Errors name the cards that are known.
Result<const AssumedDevice*> need_assumed_device(const std::string& name);
std::string predicted_text(const Plan& plan, const AssumedDevice& device, const PhaseSizes& sizes);
nlohmann::ordered_json predicted_json(const Plan& plan, const AssumedDevice& device, const PhaseSizes& sizes);

}  // namespace brass::app
