// --gpu-layers and --experts-on: what of a model the CPU does where a GPU does the rest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/session.h"
#include "plan/placement.h"

namespace brass::app {

// Whether the flags name a placement at all; else a GPU does everything.
bool shares_work(const ModelFlags& flags);
// A number of blocks, 1 or more, as --gpu-layers gives it.
Result<uint32_t> parse_gpu_layers(const std::string& text);

// What the flags say for this model; nothing where the GPU does everything. "auto": as much on the GPU as it has memory
// for; of experts, which a token reads few of, the CPU gets those first. Errors: what fits no model, or nothing that fits.
Result<std::optional<Placement>> chosen_placement(const ModelFlags& flags, const DeviceUse& use,
                                                  const std::shared_ptr<Device>& gpu,
                                                  const std::shared_ptr<Device>& cpu);

// The flags that would place the model so that the GPU has room; empty: none would.
Result<std::string> fitting_flags(const DeviceUse& use, const std::shared_ptr<Device>& gpu,
                                  const std::shared_ptr<Device>& cpu);

// What each device reads for a token, and what goes between them.
std::string placement_text(const Plan& decode);

}  // namespace brass::app
