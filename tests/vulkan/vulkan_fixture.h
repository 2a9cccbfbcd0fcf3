// Whether there is a Vulkan device to test; says so once where there is none.
#pragma once

#include <algorithm>
#include <cstdio>

#include "backend/vulkan/device.h"

namespace brass {

inline bool vulkan_is_there() {
  static const bool found = [] {
    const auto devices = vulkan_devices();
    const bool usable =
        devices && std::ranges::any_of(*devices, [](const VulkanInfo& d) { return d.refused.empty(); });
    if (!usable) std::printf("[  SKIPPED ] there is no Vulkan device here\n");
    return usable;
  }();
  return found;
}

}  // namespace brass
