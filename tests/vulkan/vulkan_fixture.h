// Whether there is a Vulkan device to test; says so once where there is none. Not under the sanitizers: a driver that
// compiles shaders to machine code is none of ours to check.
#pragma once

#include <algorithm>
#include <cstdio>

#include "backend/vulkan/device.h"
#include "sanitized.h"

namespace brass {

inline bool vulkan_is_there() {
  static const bool found = [] {
    if (kSanitized) {
      std::printf("[  SKIPPED ] Vulkan drivers are not run under the sanitizers\n");
      return false;
    }
    const auto devices = vulkan_devices();
    const bool usable =
        devices && std::ranges::any_of(*devices, [](const VulkanInfo& d) { return d.refused.empty(); });
    if (!usable) std::printf("[  SKIPPED ] there is no Vulkan device here\n");
    return usable;
  }();
  return found;
}

}  // namespace brass
