#include "backend/vulkan/physical_device.h"

#include <algorithm>

#define VOLK_IMPLEMENTATION
#include <volk.h>

namespace brass::vulkan {
namespace {

// One for the process; null where there is no Vulkan.
Result<VkInstance> instance() {
  static const auto made = []() -> Result<VkInstance> {
    if (volkInitialize() != VK_SUCCESS) return VkInstance{};
    const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                        .pApplicationName = "brass",
                                        .apiVersion = VK_API_VERSION_1_3};
    const VkInstanceCreateInfo create{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                      .pApplicationInfo = &application};
    VkInstance handle = VK_NULL_HANDLE;
    const VkResult result = vkCreateInstance(&create, nullptr, &handle);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) return VkInstance{};
    if (result != VK_SUCCESS) return vk_error("vkCreateInstance", result);
    volkLoadInstance(handle);
    return handle;
  }();
  return made;
}

}  // namespace

Result<std::vector<VkPhysicalDevice>> physical_devices() {
  VkInstance vk = TRY(instance());
  if (vk == VK_NULL_HANDLE) return std::vector<VkPhysicalDevice>{};
  uint32_t n = 0;
  VK_TRY(vkEnumeratePhysicalDevices, vk, &n, nullptr);
  std::vector<VkPhysicalDevice> devices(n);
  VK_TRY(vkEnumeratePhysicalDevices, vk, &n, devices.data());
  devices.resize(n);
  return devices;
}

bool has_extension(VkPhysicalDevice physical, std::string_view name) {
  uint32_t n = 0;
  if (vkEnumerateDeviceExtensionProperties(physical, nullptr, &n, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> all(n);
  if (vkEnumerateDeviceExtensionProperties(physical, nullptr, &n, all.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(all, [&](const VkExtensionProperties& e) { return e.extensionName == name; });
}

std::optional<uint64_t> free_of_heap(VkPhysicalDevice physical, uint32_t heap) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  if (!has_extension(physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) return std::nullopt;
  memory.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
  return budget.heapBudget[heap] - std::min(budget.heapBudget[heap], budget.heapUsage[heap]);
}

int compute_family(VkPhysicalDevice physical) {
  uint32_t n = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, nullptr);
  std::vector<VkQueueFamilyProperties> families(n);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, families.data());
  for (uint32_t i = 0; i < n; i++)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  return -1;
}

namespace {

std::string missing_feature(VkPhysicalDevice physical) {
  Features has;
  has.chain();
  vkGetPhysicalDeviceFeatures2(physical, &has.core);
  std::string missing;
  has.each([&](const char* name, VkBool32 there) {
    if (there == VK_FALSE && missing.empty()) missing = name;
  });
  return missing;
}

std::string_view kind_name(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return "cpu";
    default:
      return "other";
  }
}

// f16 · f16 summed in f32 by a subgroup: of the tiles that there are, 16 × 16 × 16 rather than others.
MatrixTile matrix_tile(VkPhysicalDevice physical) {
  if (!has_extension(physical, VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME)) return {};
  MatrixFeatures has;
  vkGetPhysicalDeviceFeatures2(physical, &has.core);
  if (has.matrix.cooperativeMatrix == VK_FALSE || has.v12.shaderFloat16 == VK_FALSE ||
      has.v12.vulkanMemoryModel == VK_FALSE)
    return {};
  const auto list = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
      vkGetInstanceProcAddr(volkGetLoadedInstance(), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  uint32_t n = 0;
  if (list == nullptr || list(physical, &n, nullptr) != VK_SUCCESS) return {};
  std::vector<VkCooperativeMatrixPropertiesKHR> all(
      n, {.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
  if (list(physical, &n, all.data()) != VK_SUCCESS) return {};
  MatrixTile best;
  for (const VkCooperativeMatrixPropertiesKHR& p : all) {
    const bool fits = p.AType == VK_COMPONENT_TYPE_FLOAT16_KHR && p.BType == VK_COMPONENT_TYPE_FLOAT16_KHR &&
                      p.CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
                      p.ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR && p.scope == VK_SCOPE_SUBGROUP_KHR;
    const bool even = p.MSize % 8 == 0 && p.NSize % 8 == 0 && p.KSize % 8 == 0 && 64 % p.MSize == 0 &&
                      64 % p.NSize == 0 && 32 % p.KSize == 0;
    const bool square = p.MSize == 16 && p.NSize == 16 && p.KSize == 16;
    if (fits && even && (best.rows == 0 || square)) best = {p.MSize, p.NSize, p.KSize};
  }
  return best;
}

// What runs workgroups side by side: multiprocessors, compute units. 0: the driver does not say.
uint32_t processors(VkPhysicalDevice physical) {
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
  VkPhysicalDeviceShaderCorePropertiesAMD amd{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD};
  VkPhysicalDeviceProperties2 p{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  if (has_extension(physical, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
    p.pNext = &nvidia;
  } else if (has_extension(physical, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) {
    p.pNext = &amd;
  }
  vkGetPhysicalDeviceProperties2(physical, &p);
  return nvidia.shaderSMCount +
         amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
}

constexpr VkSubgroupFeatureFlags kSubgroupOperations =
    VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT |
    VK_SUBGROUP_FEATURE_SHUFFLE_BIT;

// AMD's cards take subgroups of 64 where nobody asks, or of 32: by these a lane of gfx12 holds 16 bytes of a tile of the
// matrix unit, and several rows of a product are under way on one SIMD.
uint32_t subgroup_size(uint32_t usual, const VkPhysicalDeviceVulkan13Properties& sizes) {
  const bool can = (sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                   sizes.minSubgroupSize <= 32 && sizes.maxSubgroupSize >= 32;
  return usual > 32 && can ? 32 : usual;
}

}  // namespace

VulkanInfo describe(VkPhysicalDevice physical, uint32_t index) {
  VkPhysicalDeviceVulkan13Properties v13{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceVulkan12Properties v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES,
                                         .pNext = &v13};
  VkPhysicalDeviceVulkan11Properties v11{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES,
                                         .pNext = &v12};
  VkPhysicalDeviceProperties2 p{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &v11};
  vkGetPhysicalDeviceProperties2(physical, &p);
  VulkanInfo info{.index = index,
                  .name = p.properties.deviceName,
                  .driver = fmt::format("{} {}", v12.driverName, v12.driverInfo),
                  .kind = std::string(kind_name(p.properties.deviceType))};
  info.subgroup = subgroup_size(v11.subgroupSize, v13);
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
      info.memory = std::max<uint64_t>(info.memory, memory.memoryHeaps[i].size);
  for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0 &&
        memory.memoryHeaps[i].size == info.memory)
      info.free_memory = std::max(info.free_memory, free_of_heap(physical, i).value_or(info.memory));
  info.matrix = matrix_tile(physical);
  info.packed_dots = v13.integerDotProduct4x8BitPackedSignedAccelerated != VK_FALSE;
  info.processors = processors(physical);
  if (p.properties.apiVersion < VK_API_VERSION_1_3) {
    info.refused =
        fmt::format("has Vulkan {}.{}, Brass needs 1.3", VK_API_VERSION_MAJOR(p.properties.apiVersion),
                    VK_API_VERSION_MINOR(p.properties.apiVersion));
  } else if (const std::string missing = missing_feature(physical); !missing.empty()) {
    info.refused = fmt::format("lacks the feature {}", missing);
  } else if (compute_family(physical) < 0) {
    info.refused = "has no queue that computes";
  } else if (info.subgroup < 8 || info.subgroup > 64) {
    info.refused = fmt::format("has subgroups of {}, Brass knows 8 to 64", info.subgroup);
  } else if (const uint32_t most = p.properties.limits.maxComputeWorkGroupInvocations;
             most < std::min(1024u, 32 * info.subgroup)) {
    info.refused = fmt::format("has workgroups of at most {} threads", most);
  } else if ((v11.subgroupSupportedOperations & kSubgroupOperations) != kSubgroupOperations) {
    info.refused = "lacks votes, sums or shuffles in subgroups";
  }
  return info;
}

Result<uint32_t> choose_device(std::span<const VkPhysicalDevice> devices, int32_t index) {
  if (devices.empty())
    return fail_hint("install a Vulkan driver (Debian: mesa-vulkan-drivers), or use --device cpu",
                     "there is no Vulkan device");
  if (index >= 0) {
    if (static_cast<size_t>(index) >= devices.size())
      return fail("there is no Vulkan device {}: there are {}", index, devices.size());
    return static_cast<uint32_t>(index);
  }
  uint32_t chosen = 0;
  for (uint32_t i = static_cast<uint32_t>(devices.size()); i > 0; i--)
    if (const VulkanInfo info = describe(devices[i - 1], i - 1); info.refused.empty() && info.kind != "cpu")
      chosen = i - 1;
  return chosen;
}

}  // namespace brass::vulkan

namespace brass {

std::optional<Prompts> find_prompts(std::string_view name) {
  const auto found = std::ranges::find(kPromptsNames, name);
  if (found == std::end(kPromptsNames)) return std::nullopt;
  return static_cast<Prompts>(found - std::begin(kPromptsNames));
}

Prompts usual_prompts(const VulkanInfo& info) {
  return info.matrix.rows > 0 ? Prompts::kMatrix : info.packed_dots ? Prompts::kDots : Prompts::kPlain;
}

Result<std::vector<VulkanInfo>> vulkan_devices() {
  std::vector<VulkanInfo> out;
  for (VkPhysicalDevice physical : TRY(vulkan::physical_devices()))
    out.push_back(vulkan::describe(physical, static_cast<uint32_t>(out.size())));
  return out;
}

}  // namespace brass
