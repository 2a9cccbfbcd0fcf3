#include "backend/vulkan/programs.h"

#include <volk.h>

#include <algorithm>

#include "base/check.h"

namespace brass::vulkan {
namespace {

struct Code {
  std::string_view name;
  std::span<const uint32_t> words;
};

#include "shaders.inc"  // kCodes

const Code& code_of(std::string_view name) {
  for (const Code& code : kCodes)
    if (code.name == name) return code;
  ENSURE(false, "no program '{}'", name);
}

}  // namespace

bool Programs::has(std::string_view name) {
  return std::ranges::any_of(kCodes, [&](const Code& code) { return code.name == name; });
}

Programs::~Programs() {
  for (const auto& [key, pipeline] : pipelines_) vkDestroyPipeline(context_.device(), pipeline, nullptr);
  if (layout_ != VK_NULL_HANDLE) vkDestroyPipelineLayout(context_.device(), layout_, nullptr);
}

Result<> Programs::make_layout() {
  const VkPushConstantRange range{.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .offset = 0, .size = kPushBytes};
  const VkPipelineLayoutCreateInfo create{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .pushConstantRangeCount = 1,
                                          .pPushConstantRanges = &range};
  VK_TRY(vkCreatePipelineLayout, context_.device(), &create, nullptr, &layout_);
  return {};
}

Result<VkPipeline> Programs::find(const std::string& name, const std::vector<uint32_t>& constants,
                                  bool by_lanes) {
  if (layout_ == VK_NULL_HANDLE) TRY_VOID(make_layout());
  VkPipeline& pipeline = pipelines_[{name, constants}];
  if (pipeline == VK_NULL_HANDLE) pipeline = TRY(make(name, constants, by_lanes));
  return pipeline;
}

Result<VkPipeline> Programs::make(const std::string& name, const std::vector<uint32_t>& constants,
                                  bool by_lanes) {
  const Code& code = code_of(name);
  const VkShaderModuleCreateInfo module{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                        .codeSize = code.words.size_bytes(),
                                        .pCode = code.words.data()};
  VkShaderModule shader = VK_NULL_HANDLE;
  VK_TRY(vkCreateShaderModule, context_.device(), &module, nullptr, &shader);
  std::vector<uint32_t> values = {context_.info().subgroup};
  values.insert(values.end(), constants.begin(), constants.end());
  std::vector<VkSpecializationMapEntry> entries;
  for (uint32_t i = 0; i < values.size(); i++) entries.push_back({i, 4 * i, 4});
  const VkSpecializationInfo special{.mapEntryCount = static_cast<uint32_t>(entries.size()),
                                     .pMapEntries = entries.data(),
                                     .dataSize = values.size() * 4,
                                     .pData = values.data()};
  const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo lanes{
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = context_.info().subgroup};
  const VkComputePipelineCreateInfo create{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage =
          {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
           .pNext = by_lanes ? &lanes : nullptr,
           .flags =
               by_lanes
                   ? VkPipelineShaderStageCreateFlags{VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT}
                   : 0,
           .stage = VK_SHADER_STAGE_COMPUTE_BIT,
           .module = shader,
           .pName = "main",
           .pSpecializationInfo = &special},
      .layout = layout_};
  VkPipeline pipeline = VK_NULL_HANDLE;
  const VkResult result =
      vkCreateComputePipelines(context_.device(), VK_NULL_HANDLE, 1, &create, nullptr, &pipeline);
  vkDestroyShaderModule(context_.device(), shader, nullptr);
  if (result != VK_SUCCESS)
    return std::unexpected(std::move(vk_error("vkCreateComputePipelines", result).error()).within(name));
  return pipeline;
}

}  // namespace brass::vulkan
