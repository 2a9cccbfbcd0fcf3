#include "backend/vulkan/context.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "backend/vulkan/cooperative_matrix.h"
#include "base/check.h"

namespace brass::vulkan {
namespace {

constexpr std::chrono::milliseconds kPolled(50);  // that a submission is waited for without sleeping

std::string_view result_name(VkResult result) {
  switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    default:
      return "";
  }
}

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

bool has_extension(VkPhysicalDevice physical, std::string_view name) {
  uint32_t n = 0;
  if (vkEnumerateDeviceExtensionProperties(physical, nullptr, &n, nullptr) != VK_SUCCESS) return false;
  std::vector<VkExtensionProperties> all(n);
  if (vkEnumerateDeviceExtensionProperties(physical, nullptr, &n, all.data()) != VK_SUCCESS) return false;
  return std::ranges::any_of(all, [&](const VkExtensionProperties& e) { return e.extensionName == name; });
}

// What the programs of the matrix unit use besides (shaders/matrix.glsl).
struct MatrixFeatures {
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
  VkPhysicalDeviceVulkan12Features v12{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                       .pNext = &matrix};
  VkPhysicalDeviceFeatures2 core{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &v12};
};

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

// What the driver would still give of a heap, where it says.
std::optional<uint64_t> free_of_heap(VkPhysicalDevice physical, uint32_t heap) {
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2};
  if (!has_extension(physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)) return std::nullopt;
  memory.pNext = &budget;
  vkGetPhysicalDeviceMemoryProperties2(physical, &memory);
  return budget.heapBudget[heap] - std::min(budget.heapBudget[heap], budget.heapUsage[heap]);
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

// A family that computes, or −1.
int compute_family(VkPhysicalDevice physical) {
  uint32_t n = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, nullptr);
  std::vector<VkQueueFamilyProperties> families(n);
  vkGetPhysicalDeviceQueueFamilyProperties(physical, &n, families.data());
  for (uint32_t i = 0; i < n; i++)
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  return -1;
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

}  // namespace

std::unexpected<Error> vk_error(std::string_view call, VkResult result) {
  const std::string_view name = result_name(result);
  const std::string shown =
      name.empty() ? fmt::format("error {}", static_cast<int>(result)) : std::string(name);
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
    return fail_hint("use a smaller context (--context), --kv-type int8, or a smaller model", "{}: {}", call,
                     shown);
  if (result == VK_ERROR_DEVICE_LOST)
    return fail_hint(
        "start again; where it happens again, the driver's log (dmesg) says why, and --device cpu works",
        "{}: {}: the device has stopped", call, shown);
  return fail("{}: {}", call, shown);
}

// ---- buffers

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  release();
  context_ = std::exchange(other.context_, nullptr);
  buffer_ = std::exchange(other.buffer_, VK_NULL_HANDLE);
  memory_ = std::exchange(other.memory_, VK_NULL_HANDLE);
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  taken_ = std::exchange(other.taken_, 0);
  heap_ = other.heap_;
  mapped_ = std::exchange(other.mapped_, nullptr);
  return *this;
}

void Buffer::release() {
  if (context_ == nullptr) return;
  vkDestroyBuffer(context_->device(), buffer_, nullptr);
  vkFreeMemory(context_->device(), memory_, nullptr);
  context_->taken_[heap_] -= taken_;
  context_ = nullptr;
}

Result<uint32_t> Context::memory_type(uint32_t allowed, Memory memory, std::string_view what) const {
  constexpr VkMemoryPropertyFlags kOwn = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  constexpr VkMemoryPropertyFlags kSeen =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const auto find = [&](VkMemoryPropertyFlags wanted) -> std::optional<uint32_t> {
    for (uint32_t i = 0; i < memory_.memoryTypeCount; i++)
      if ((allowed >> i & 1) != 0 && (memory_.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
    return std::nullopt;
  };
  // What the CPU reads comes through its caches where there is such memory: else each read goes to memory by itself. A
  // read of the device's from the machine's memory takes a microsecond, and a program may wait for several.
  std::optional<uint32_t> found;
  if (memory == Memory::kRead) found = find(kSeen | VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
  if (memory == Memory::kWritten) found = find(kSeen | kOwn);
  if (!found) found = find(memory == Memory::kOwn ? kOwn : kSeen);
  if (!found) return fail("{}: the device has no memory for {}", info_.name, what);
  return *found;
}

namespace {

VkBufferCreateInfo buffer_info(uint64_t bytes) {
  return {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
          .size = std::max<uint64_t>(bytes, 16),
          .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                   VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
}

VkMemoryRequirements requirements_of(VkDevice device, uint64_t bytes) {
  const VkBufferCreateInfo create = buffer_info(bytes);
  const VkDeviceBufferMemoryRequirements asked{.sType = VK_STRUCTURE_TYPE_DEVICE_BUFFER_MEMORY_REQUIREMENTS,
                                               .pCreateInfo = &create};
  VkMemoryRequirements2 found{.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2};
  vkGetDeviceBufferMemoryRequirements(device, &asked, &found);
  return found.memoryRequirements;
}

}  // namespace

uint64_t Context::allocation_bytes(uint64_t bytes) const { return requirements_of(device_, bytes).size; }

Result<> Context::find_heaps() {
  const uint32_t allowed = requirements_of(device_, 1 << 20).memoryTypeBits;
  for (const Memory memory : {Memory::kOwn, Memory::kRead, Memory::kWritten})
    heaps_[static_cast<size_t>(memory)] =
        memory_.memoryTypes[TRY(memory_type(allowed, memory, "buffers"))].heapIndex;
  device_heap_ = heaps_[static_cast<size_t>(Memory::kOwn)];
  return {};
}

uint64_t Context::available() const {
  const auto free = free_of_heap(physical_, device_heap_);
  const uint64_t all = free ? taken() + *free : memory_.memoryHeaps[device_heap_].size;
  return limit_ > 0 ? std::min(limit_, all) : all;
}

Result<Buffer> Context::make_buffer(uint64_t bytes, Memory memory, std::string_view what) const {
  if (bytes > largest_allocation_)
    return fail("{}: {} takes {} bytes in one piece, the device gives at most {}", info_.name, what, bytes,
                largest_allocation_);
  Buffer out;
  out.context_ = this;
  out.bytes_ = std::max<uint64_t>(bytes, 16);
  const VkBufferCreateInfo create = buffer_info(bytes);
  VK_TRY(vkCreateBuffer, device_, &create, nullptr, &out.buffer_);
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, out.buffer_, &needs);
  const VkMemoryAllocateFlagsInfo flags{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
  const VkMemoryAllocateInfo allocate{
      .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
      .pNext = &flags,
      .allocationSize = needs.size,
      .memoryTypeIndex = TRY(memory_type(needs.memoryTypeBits, memory, what))};
  out.heap_ = memory_.memoryTypes[allocate.memoryTypeIndex].heapIndex;
  const bool beyond = limit_ > 0 && out.heap_ == device_heap_ && taken() + needs.size > limit_;
  const bool faulty = faults_.allocation >= 0 && allocations_++ >= faults_.allocation;
  const VkResult result = beyond || faulty ? VK_ERROR_OUT_OF_DEVICE_MEMORY
                                           : vkAllocateMemory(device_, &allocate, nullptr, &out.memory_);
  if (result != VK_SUCCESS)
    return std::unexpected(
        std::move(vk_error("vkAllocateMemory", result).error())
            .within(fmt::format("{}: {} of {} bytes{}", info_.name, what, bytes,
                                beyond ? fmt::format(" beyond the limit of {}", limit_) : "")));
  out.taken_ = needs.size;
  taken_[out.heap_] += needs.size;
  VK_TRY(vkBindBufferMemory, device_, out.buffer_, out.memory_, 0);
  if (memory != Memory::kOwn) {
    void* at = nullptr;
    VK_TRY(vkMapMemory, device_, out.memory_, 0, VK_WHOLE_SIZE, 0, &at);
    out.mapped_ = static_cast<std::byte*>(at);
  }
  const VkBufferDeviceAddressInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                       .buffer = out.buffer_};
  out.address_ = vkGetBufferDeviceAddress(device_, &info);
  return out;
}

// ---- the device

Result<std::unique_ptr<Context>> Context::open(const VulkanOptions& options) {
  const int32_t index = options.index;
  const std::vector<VkPhysicalDevice> devices = TRY(physical_devices());
  if (devices.empty())
    return fail_hint("install a Vulkan driver (Debian: mesa-vulkan-drivers), or use --device cpu",
                     "there is no Vulkan device");
  uint32_t chosen = 0;
  if (index >= 0) {
    if (static_cast<size_t>(index) >= devices.size())
      return fail("there is no Vulkan device {}: there are {}", index, devices.size());
    chosen = static_cast<uint32_t>(index);
  } else {
    for (uint32_t i = static_cast<uint32_t>(devices.size()); i > 0; i--)
      if (const VulkanInfo info = describe(devices[i - 1], i - 1); info.refused.empty() && info.kind != "cpu")
        chosen = i - 1;
  }
  std::unique_ptr<Context> context(new Context);
  context->info_ = describe(devices[chosen], chosen);
  context->limit_ = options.memory_limit;
  context->faults_ = options.faults;
  if (!options.use_matrix_unit) context->info_.matrix = {};
  context->describes_ = options.describe_pipelines &&
                        has_extension(devices[chosen], VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  if (!context->info_.refused.empty())
    return fail("Vulkan device {} ({}) {}", chosen, context->info_.name, context->info_.refused);
  TRY_VOID(context->create(devices[chosen], static_cast<uint32_t>(compute_family(devices[chosen]))));
  return context;
}

Context::Identity Context::identity() const {
  VkPhysicalDeviceIDProperties id{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
  VkPhysicalDeviceProperties2 p{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &id};
  vkGetPhysicalDeviceProperties2(physical_, &p);
  Identity out{.driver = p.properties.driverVersion};
  std::ranges::copy(id.deviceUUID, out.device.begin());
  std::ranges::copy(p.properties.pipelineCacheUUID, out.cache.begin());
  return out;
}

Result<> Context::create(VkPhysicalDevice physical, uint32_t family) {
  physical_ = physical;
  vkGetPhysicalDeviceMemoryProperties(physical, &memory_);
  VkPhysicalDeviceMaintenance4Properties buffers{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_PROPERTIES};
  VkPhysicalDeviceMaintenance3Properties limits{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES, .pNext = &buffers};
  VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                         .pNext = &limits};
  vkGetPhysicalDeviceProperties2(physical, &properties);
  largest_allocation_ = std::min(limits.maxMemoryAllocationSize, buffers.maxBufferSize);
  if (properties.properties.limits.timestampComputeAndGraphics != VK_FALSE)
    tick_ = static_cast<double>(properties.properties.limits.timestampPeriod);

  Features wanted;
  wanted.chain();
  wanted.each([](const char*, VkBool32& feature) { feature = VK_TRUE; });
  MatrixFeatures matrix;
  std::vector<const char*> extensions;
  if (info_.matrix.rows > 0) {
    wanted.v12.shaderFloat16 = wanted.v12.vulkanMemoryModel = VK_TRUE;
    matrix.matrix.cooperativeMatrix = VK_TRUE;
    wanted.v13.pNext = &matrix.matrix;
    extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
  }
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executables{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pNext = wanted.v13.pNext,
      .pipelineExecutableInfo = VK_TRUE};
  if (describes_) {
    wanted.v13.pNext = &executables;
    extensions.push_back(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
  }
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const VkDeviceCreateInfo create{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                  .pNext = &wanted.core,
                                  .queueCreateInfoCount = 1,
                                  .pQueueCreateInfos = &queue,
                                  .enabledExtensionCount = static_cast<uint32_t>(extensions.size()),
                                  .ppEnabledExtensionNames = extensions.data()};
  VK_TRY(vkCreateDevice, physical, &create, nullptr, &device_);
  vkGetDeviceQueue(device_, family, 0, &queue_);
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                     .queueFamilyIndex = family};
  VK_TRY(vkCreateCommandPool, device_, &pool, nullptr, &pool_);
  commands_ = TRY(make_commands());
  const VkFenceCreateInfo fence{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  for (VkFence& made : fences_) VK_TRY(vkCreateFence, device_, &fence, nullptr, &made);
  TRY_VOID(find_heaps());
  staging_ = TRY(make_buffer(kStagingBytes, Memory::kRead, "staging"));
  return {};
}

Context::~Context() {
  staging_ = Buffer();
  if (device_ == VK_NULL_HANDLE) return;
  vkDeviceWaitIdle(device_);
  for (VkFence fence : fences_) vkDestroyFence(device_, fence, nullptr);
  vkDestroyCommandPool(device_, pool_, nullptr);
  vkDestroyDevice(device_, nullptr);
}

Result<VkCommandBuffer> Context::make_commands() const {
  const VkCommandBufferAllocateInfo allocate{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                             .commandPool = pool_,
                                             .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                             .commandBufferCount = 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VK_TRY(vkAllocateCommandBuffers, device_, &allocate, &commands);
  return commands;
}

Result<> Context::record(VkCommandBuffer commands, const std::function<void(VkCommandBuffer)>& record) const {
  const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VK_TRY(vkBeginCommandBuffer, commands, &begin);
  record(commands);
  VK_TRY(vkEndCommandBuffer, commands);
  return {};
}

Result<> Context::start(VkCommandBuffer commands, uint32_t slot) const {
  const VkSubmitInfo submit{
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
  VK_TRY(vkResetFences, device_, 1, &fences_[slot]);
  if (faults_.submission >= 0 && submissions_++ >= faults_.submission)
    return vk_error("vkQueueSubmit", VK_ERROR_DEVICE_LOST);
  VK_TRY(vkQueueSubmit, queue_, 1, &submit, fences_[slot]);
  return {};
}

Result<> Context::wait(uint32_t slot) const {
  // A wait that sleeps costs up to a millisecond, as long as half a token. A device that is a CPU needs the time itself.
  const auto begin = std::chrono::steady_clock::now();
  while (info_.kind != "cpu" && std::chrono::steady_clock::now() - begin < kPolled) {
    const VkResult state = vkGetFenceStatus(device_, fences_[slot]);
    if (state == VK_SUCCESS) return {};
    if (state != VK_NOT_READY) return vk_error("vkGetFenceStatus", state);
  }
  VK_TRY(vkWaitForFences, device_, 1, &fences_[slot], VK_TRUE, UINT64_MAX);
  return {};
}

Result<> Context::submit(VkCommandBuffer commands) const {
  TRY_VOID(start(commands, kSlots));
  return wait(kSlots);
}

Result<> Context::run(const std::function<void(VkCommandBuffer)>& record_them) const {
  TRY_VOID(record(commands_, record_them));
  return submit(commands_);
}

Result<> Context::write(const Buffer& to, uint64_t offset, std::span<const std::byte> bytes) const {
  ENSURE(offset + bytes.size() <= to.bytes(), "{} bytes at {} of {}", bytes.size(), offset, to.bytes());
  for (size_t done = 0; done < bytes.size();) {
    const size_t n = std::min<size_t>(bytes.size() - done, kStagingBytes);
    std::memcpy(staging_.mapped(), bytes.data() + done, n);
    TRY_VOID(run([&](VkCommandBuffer commands) {
      const VkBufferCopy region{.srcOffset = 0, .dstOffset = offset + done, .size = n};
      vkCmdCopyBuffer(commands, staging_.handle(), to.handle(), 1, &region);
      full_barrier(commands);
    }));
    done += n;
  }
  return {};
}

Result<> Context::read(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) const {
  ENSURE(offset + bytes.size() <= from.bytes(), "{} bytes at {} of {}", bytes.size(), offset, from.bytes());
  for (size_t done = 0; done < bytes.size();) {
    const size_t n = std::min<size_t>(bytes.size() - done, kStagingBytes);
    TRY_VOID(run([&](VkCommandBuffer commands) {
      full_barrier(commands);
      const VkBufferCopy region{.srcOffset = offset + done, .dstOffset = 0, .size = n};
      vkCmdCopyBuffer(commands, from.handle(), staging_.handle(), 1, &region);
      full_barrier(commands);
    }));
    std::memcpy(bytes.data() + done, staging_.mapped(), n);
    done += n;
  }
  return {};
}

namespace {

void barrier(VkCommandBuffer commands, const VkMemoryBarrier2& memory) {
  const VkDependencyInfo dependency{
      .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &memory};
  vkCmdPipelineBarrier2(commands, &dependency);
}

}  // namespace

void full_barrier(VkCommandBuffer commands) {
  barrier(commands, {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                     .srcStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                     .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                     .dstStageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_2_HOST_BIT,
                     .dstAccessMask = VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT |
                                      VK_ACCESS_2_HOST_READ_BIT});
}

void program_barrier(VkCommandBuffer commands) {
  barrier(commands,
          {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
           .srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
           .srcAccessMask = VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
           .dstStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
           .dstAccessMask = VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT});
}

}  // namespace brass::vulkan

namespace brass {

Result<std::vector<VulkanInfo>> vulkan_devices() {
  std::vector<VulkanInfo> out;
  for (VkPhysicalDevice physical : TRY(vulkan::physical_devices()))
    out.push_back(vulkan::describe(physical, static_cast<uint32_t>(out.size())));
  return out;
}

}  // namespace brass
