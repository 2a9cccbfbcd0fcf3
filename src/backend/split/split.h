// Two devices that share one model: a GPU and the CPU, where the GPU's memory does not hold all of it.
//
// Owns: which device gets what of the weights and of the sequences' memory, running segments in order, carrying rows from
// one to the other through the host's memory. Must not know: which devices the two are. Invariants: both work on what the
// plan's segments say and on nothing else; they take turns, so a step takes the sum of their times.
#pragma once

#include <memory>

#include "backend/device.h"
#include "plan/placement.h"

namespace brass {

// `first` and `second` are devices 0 and 1 of placement.h; only the first may have memory of its own. upload() fails where
// one of them would have nothing to do.
std::unique_ptr<Device> make_split_device(std::shared_ptr<Device> first, std::shared_ptr<Device> second,
                                          const Placement& placement);

}  // namespace brass
