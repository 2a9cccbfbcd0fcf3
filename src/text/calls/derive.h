// A format made from what a template writes for marked calls.
//
// Owns: MarkedTurns, derive_format(). Must not know: templates.
// Invariants: what is found is a guess from few examples: the caller checks it by reading renders back.
#pragma once

#include <optional>
#include <string>

#include "text/calls/format.h"

namespace brass::calls {

// The names that stand in the marked calls.
struct MarkedCall {
  std::string name, id, key, value;
};

constexpr const char* kMarkedNumber = "73519";

struct MarkedTurns {
  MarkedCall first, second;
  std::string one;     // the first call alone
  std::string two;     // both; empty where the template takes one at a time
  std::string pair;    // the first with a second argument, key and value those of the second
  std::string list;    // the first with a list as its argument: the second value
  std::string number;  // and with kMarkedNumber
  std::string end;     // what ends a turn without calls
};

std::optional<CallFormat> derive_format(const MarkedTurns& turns);

}  // namespace brass::calls
