// The compute programs: SPIR-V made at build time from shaders/, pipelines made when first used.
//
// Owns: pipelines by name and specialization constants. Must not know: what they compute. Invariants: every program takes
// one block of push constants of at most 128 bytes and no descriptors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "backend/vulkan/pipeline_cache.h"

namespace brass::vulkan {

inline constexpr uint32_t kPushBytes = 128;  // that every device has

// What the driver says of a pipeline that it made, by its own names: "VGPRs", "Register Count", …
using PipelineFigures = std::map<std::string, double>;

class Programs {
 public:
  using Key = std::pair<std::string, std::vector<uint32_t>>;  // name, constants

  // `cache_folder`: where compiled programs are kept from start to start; empty: nowhere.
  Programs(const Context& context, const std::string& cache_folder);
  ~Programs();
  Programs(const Programs&) = delete;

  static bool has(std::string_view name);
  VkPipelineLayout layout() const { return layout_; }
  uint32_t lanes() const { return context_.info().subgroup; }
  // constants: specialization constants 1, 2, … `by_lanes`: the program's workgroups are one subgroup (lanes.glsl), whose
  // size is constant 0.
  Result<VkPipeline> find(const std::string& name, const std::vector<uint32_t>& constants, bool by_lanes);
  // Of a pipeline that was found before; the context describes pipelines, or there are none.
  Result<PipelineFigures> figures(const Key& key) const;

 private:
  Result<> make_layout();
  Result<VkPipeline> make(const std::string& name, const std::vector<uint32_t>& constants, bool by_lanes);

  const Context& context_;
  PipelineCache cache_;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  std::map<Key, VkPipeline> pipelines_;
};

}  // namespace brass::vulkan
