// The Vulkan devices that there are, before one of them is opened.
//
// Owns: the instance, what a device must have and why one is refused, how it is described. Must not know: queues,
// buffers. Invariants: there is one instance for the process; nothing is allocated on a device by looking at it.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/vulkan/context.h"
#include "backend/vulkan/cooperative_matrix.h"

namespace brass::vulkan {

// Empty where there is no Vulkan.
Result<std::vector<VkPhysicalDevice>> physical_devices();
// The one that options mean (VulkanOptions::index).
Result<uint32_t> choose_device(std::span<const VkPhysicalDevice> devices, int32_t index);
VulkanInfo describe(VkPhysicalDevice physical, uint32_t index);

// The features that the shaders use; as a query, and as what is asked for.
struct Features {
  VkPhysicalDeviceVulkan13Features v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceFeatures2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  void chain() {
    core.pNext = &v11;
    v11.pNext = &v12;
    v12.pNext = &v13;
  }
  template <class F>
  void each(const F& f) {
    f("shaderInt64", core.features.shaderInt64);
    f("shaderInt16", core.features.shaderInt16);
    f("shaderInt8", v12.shaderInt8);
    f("storageBuffer8BitAccess", v12.storageBuffer8BitAccess);
    f("storageBuffer16BitAccess", v11.storageBuffer16BitAccess);
    f("bufferDeviceAddress", v12.bufferDeviceAddress);
    f("shaderIntegerDotProduct", v13.shaderIntegerDotProduct);
    f("synchronization2", v13.synchronization2);
    f("subgroupSizeControl", v13.subgroupSizeControl);
    f("computeFullSubgroups", v13.computeFullSubgroups);
    f("maintenance4", v13.maintenance4);
  }
};

// What the programs of the matrix unit use besides (shaders/matrix.glsl).
struct MatrixFeatures {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                       .pNext = &matrix};
  VkPhysicalDeviceFeatures2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v12};
};

bool has_extension(VkPhysicalDevice physical, std::string_view name);
// A family that computes, or −1.
int compute_family(VkPhysicalDevice physical);
// What the driver would still give of a heap, where it says.
std::optional<uint64_t> free_of_heap(VkPhysicalDevice physical, uint32_t heap);

}  // namespace brass::vulkan
