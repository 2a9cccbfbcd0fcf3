#include "backend/vulkan/decode_step.h"

#include "backend/vulkan/emit.h"
#include "base/check.h"

namespace brass::vulkan {

uint32_t DecodeStep::packed(uint32_t low, uint32_t high) {
  ENSURE(low % 16 == 0 && high % 16 == 0 && low / 16 < 65536 && high / 16 < 65536, "strides {}, {}", low,
         high);
  return low / 16 | high / 16 << 16;
}

Result<> DecodeStep::add(const Op& whose, const std::string& program, const std::vector<uint32_t>& constants,
                         const Push& push, uint32_t x, uint32_t y, uint32_t z, bool barrier, uint64_t near) {
  ENSURE(x <= kMaxGroups && y <= kMaxGroups && z <= kMaxGroups, "{}: a grid of {} × {} × {}", whose.name, x,
         y, z);
  const bool linked = near != 0 && d_.counters != 0;
  VkPipeline pipeline =
      linked ? VK_NULL_HANDLE : TRY(within(whose.name, d_.programs.find(program, constants, true)));
  if (x > 0 && y > 0 && z > 0)
    out_.push_back({pipeline, push, x, y, z, barrier, program, constants, linked ? near : 0});
  return {};
}

}  // namespace brass::vulkan
