// One opened Vulkan device: its queue, memory, and commands that run to their end.
//
// Owns: VkDevice and what it was made from. Must not know: plans, weights. Invariants: functions come from the
// instance's table, so several devices may be open; every VkResult is looked at.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <array>
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

// Where a buffer lies: in the device's own memory; where the CPU sees it, too, coherent: kRead, in what the CPU reads
// well, kWritten, in what the device reads well, its own memory where the CPU can write there.
enum class Memory : uint8_t { kOwn, kRead, kWritten };

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
  uint64_t address_ = 0, bytes_ = 0, taken_ = 0;
  uint32_t heap_ = 0;
  std::byte* mapped_ = nullptr;
};

class Context {
  static constexpr uint64_t kStagingBytes = 32 << 20;

 public:
  static Result<std::unique_ptr<Context>> open(const VulkanOptions& options);
  ~Context();
  Context(const Context&) = delete;

  const VulkanInfo& info() const { return info_; }
  // What compiled programs depend on besides their code.
  struct Identity {
    std::array<uint8_t, VK_UUID_SIZE> device, cache;
    uint32_t driver;  // version
  };
  Identity identity() const;
  VkDevice device() const { return device_; }
  uint64_t largest_buffer() const { return largest_allocation_; }  // bytes
  double nanoseconds_a_tick() const { return tick_; }              // 0: no timestamps
  bool describes_pipelines() const { return describes_; }

  Result<Buffer> make_buffer(uint64_t bytes, Memory memory, std::string_view what) const;
  // What such a buffer takes of its heap.
  uint64_t allocation_bytes(uint64_t bytes) const;
  // Whether such buffers lie in the device's own heap.
  bool is_own(Memory memory) const { return heaps_[static_cast<size_t>(memory)] == device_heap_; }
  // Of the device's own heap: what buffers have taken, and what others, or the limit, leave for them in all.
  uint64_t taken() const { return taken_[device_heap_]; }
  uint64_t available() const;
  static uint64_t staging_bytes() { return kStagingBytes; }
  // Records, submits, waits.
  Result<> run(const std::function<void(VkCommandBuffer)>& record) const;
  // The same in parts, for commands that run again; they live as long as the context.
  Result<VkCommandBuffer> make_commands() const;
  Result<> record(VkCommandBuffer commands, const std::function<void(VkCommandBuffer)>& record) const;
  Result<> submit(VkCommandBuffer commands) const;  // and waits
  // The same apart: what was started in a slot is waited for before the slot is used again.
  static constexpr uint32_t kSlots = 2;
  Result<> start(VkCommandBuffer commands, uint32_t slot) const;
  Result<> wait(uint32_t slot) const;
  // Through a staging buffer, in pieces.
  Result<> write(const Buffer& to, uint64_t offset, std::span<const std::byte> bytes) const;
  Result<> read(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) const;

 private:
  Context() = default;
  friend class Buffer;
  Result<> create(VkPhysicalDevice physical, uint32_t family);
  // context_memory.cpp
  Result<> find_heaps();
  Result<uint32_t> memory_type(uint32_t allowed, Memory memory, std::string_view what) const;

  VulkanInfo info_;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceMemoryProperties memory_{};
  uint64_t largest_allocation_ = 0;
  uint64_t limit_ = 0;  // of the device's heap; 0: none
  uint32_t device_heap_ = 0;
  std::array<uint32_t, 3> heaps_{};  // of each Memory
  mutable std::array<uint64_t, VK_MAX_MEMORY_HEAPS> taken_{};
  VulkanFaults faults_;
  mutable int64_t allocations_ = 0, submissions_ = 0;  // counted for faults
  double tick_ = 0;
  bool describes_ = false;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  std::array<VkFence, kSlots + 1> fences_{};  // of the slots, of submit()
  Buffer staging_;
};

// Waits for everything before it.
void full_barrier(VkCommandBuffer commands);
// Between programs: what is behind it sees what those before it wrote.
void program_barrier(VkCommandBuffer commands);

}  // namespace brass::vulkan
