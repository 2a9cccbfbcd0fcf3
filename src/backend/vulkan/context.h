// One opened Vulkan device: its queue, memory, and commands that run to their end.
//
// Owns: VkDevice and what it was made from. Must not know: plans, weights. Invariants: functions come from the
// instance's table, so several devices may be open; every VkResult is looked at.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "backend/vulkan/device.h"

namespace brass::vulkan {

// "vkQueueSubmit: VK_ERROR_DEVICE_LOST"
std::unexpected<Error> vk_error(std::string_view call, VkResult result);
#define VK_TRY(call, ...)                                                      \
  do {                                                                         \
    if (const VkResult vk_result = call(__VA_ARGS__); vk_result != VK_SUCCESS) \
      return brass::vulkan::vk_error(#call, vk_result);                        \
  } while (false)

class Context;

// Memory by address. Host-visible buffers stay mapped.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer() { release(); }

  uint64_t address() const { return address_; }
  uint64_t bytes() const { return bytes_; }
  VkBuffer handle() const { return buffer_; }
  std::byte* mapped() const { return mapped_; }

 private:
  friend class Context;
  void release();
  const Context* context_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  uint64_t address_ = 0, bytes_ = 0;
  std::byte* mapped_ = nullptr;
};

class Context {
 public:
  // describes: pipelines say what they were compiled to (Programs::figures), where the driver can.
  static Result<std::unique_ptr<Context>> open(int32_t index, bool use_matrix_unit, bool describes = false);
  ~Context();
  Context(const Context&) = delete;

  const VulkanInfo& info() const { return info_; }
  VkDevice device() const { return device_; }
  double nanoseconds_a_tick() const { return tick_; }  // 0: no timestamps
  bool describes_pipelines() const { return describes_; }

  // host: visible to the CPU, coherent; else in the device's own memory.
  Result<Buffer> make_buffer(uint64_t bytes, bool host, std::string_view what) const;
  // Records, submits, waits.
  Result<> run(const std::function<void(VkCommandBuffer)>& record) const;
  // The same in parts, for commands that run again; they live as long as the context.
  Result<VkCommandBuffer> make_commands() const;
  Result<> record(VkCommandBuffer commands, const std::function<void(VkCommandBuffer)>& record) const;
  Result<> submit(VkCommandBuffer commands) const;  // and waits
  // Through a staging buffer, in pieces.
  Result<> write(const Buffer& to, uint64_t offset, std::span<const std::byte> bytes) const;
  Result<> read(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) const;

 private:
  Context() = default;
  Result<> create(VkPhysicalDevice physical, uint32_t family);
  Result<uint32_t> memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted, std::string_view what) const;

  VulkanInfo info_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceMemoryProperties memory_{};
  uint64_t largest_allocation_ = 0;
  double tick_ = 0;
  bool describes_ = false;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  Buffer staging_;
};

// Waits for everything before it.
void full_barrier(VkCommandBuffer commands);
// Between programs: what is behind it sees what those before it wrote.
void program_barrier(VkCommandBuffer commands);

}  // namespace brass::vulkan
