#include "backend/vulkan/emit.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"

namespace brass::vulkan {
namespace {

// Programs whose subgroups have the size that constant 0 says.
constexpr std::string_view kByLanes[] = {"matmul", "norm",      "attention", "moe_route", "delta_",
                                         "ssm_",   "to_halves", "expand_",   "direct_",   "matrix_",
                                         "flash",  "to_int8",   "dots_"};

}  // namespace

std::string program_of(std::string_view program, Type type) {
  std::string name(find_format(type)->name);
  std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::tolower(c)); });
  return fmt::format("{}_{}", program, name);
}

Result<> Emit::add(const std::string& program, const std::vector<uint32_t>& constants, const Push& push,
                   uint32_t x, uint32_t y, uint32_t z, bool barrier) {
  const bool by_lanes =
      std::ranges::any_of(kByLanes, [&](std::string_view name) { return program.starts_with(name); });
  ENSURE(x <= kMaxGroups && y <= kMaxGroups && z <= kMaxGroups, "{}: a grid of {} × {} × {}", op_.name, x, y,
         z);
  VkPipeline pipeline = TRY(within(op_.name, d_.programs.find(program, constants, by_lanes)));
  if (x > 0 && y > 0 && z > 0) out_.push_back({pipeline, push, x, y, z, barrier, program, constants});
  return {};
}

void Emit::append(std::vector<Dispatch> more) {
  for (Dispatch& d : more) out_.push_back(std::move(d));
}

}  // namespace brass::vulkan
