// The memory of a device: buffers, and where they lie.
#include <volk.h>

#include <algorithm>
#include <utility>

#include "backend/vulkan/physical_device.h"

namespace brass::vulkan {

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

}  // namespace brass::vulkan
