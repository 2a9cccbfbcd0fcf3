#include "backend/vulkan/programs.h"

#include <volk.h>

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

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

// A number that changes with any of the programs.
uint64_t build_number() {
  uint64_t hash = kFnvBasis;
  for (const Code& code : kCodes)
    hash = fnv1a({reinterpret_cast<const char*>(code.words.data()), code.words.size_bytes()},
                 fnv1a(code.name, hash));
  return hash;
}

}  // namespace

Programs::Programs(const Context& context, const std::string& cache_folder)
    : context_(context), cache_(context, cache_folder, cache_folder.empty() ? 0 : build_number()) {}

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
      .flags = context_.describes_pipelines()
                   ? VkPipelineCreateFlags{VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR}
                   : 0,
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
      vkCreateComputePipelines(context_.device(), cache_.handle(), 1, &create, nullptr, &pipeline);
  vkDestroyShaderModule(context_.device(), shader, nullptr);
  if (result != VK_SUCCESS)
    return std::unexpected(std::move(vk_error("vkCreateComputePipelines", result).error()).within(name));
  return pipeline;
}

namespace {

double value_of(const VkPipelineExecutableStatisticKHR& s) {
  switch (s.format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
      return s.value.b32 != VK_FALSE ? 1 : 0;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
      return static_cast<double>(s.value.i64);
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
      return static_cast<double>(s.value.u64);
    default:
      return s.value.f64;
  }
}

}  // namespace

Result<PipelineFigures> Programs::figures(const Key& key) const {
  const auto found = pipelines_.find(key);
  ENSURE(found != pipelines_.end() && context_.describes_pipelines(), "{}", key.first);
  const VkPipelineExecutableInfoKHR executable{.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                               .pipeline = found->second};
  uint32_t n = 0;
  VK_TRY(vkGetPipelineExecutableStatisticsKHR, context_.device(), &executable, &n, nullptr);
  std::vector<VkPipelineExecutableStatisticKHR> all(
      n, {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR});
  VK_TRY(vkGetPipelineExecutableStatisticsKHR, context_.device(), &executable, &n, all.data());
  PipelineFigures figures;
  for (const VkPipelineExecutableStatisticKHR& s : all) figures[s.name] = value_of(s);
  return figures;
}

}  // namespace brass::vulkan
