#include "backend/vulkan/context.h"

#include <volk.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "backend/vulkan/physical_device.h"
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

Result<std::unique_ptr<Context>> Context::open(const VulkanOptions& options) {
  const std::vector<VkPhysicalDevice> devices = TRY(physical_devices());
  const uint32_t chosen = TRY(choose_device(devices, options.index));
  std::unique_ptr<Context> context(new Context);
  context->info_ = describe(devices[chosen], chosen);
  context->limit_ = options.memory_limit;
  context->faults_ = options.faults;
  if (options.prompts == Prompts::kDots || options.prompts == Prompts::kPlain) context->info_.matrix = {};
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
