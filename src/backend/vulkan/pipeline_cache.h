// Compiled programs on disk, so that a later start need not compile them again.
//
// Owns: one file a device, driver and build; the VkPipelineCache. Must not know: programs. Invariants: a driver is given
// only what its like wrote: a file of another key, length or hash is as good as none; a file appears whole or not at all;
// what fails with the file costs time, never a run.
#pragma once

#include <string>

#include "backend/vulkan/context.h"

namespace brass::vulkan {

class PipelineCache {
 public:
  // `folder`: "": nothing on disk. `build`: a number of the programs that this build has.
  PipelineCache(const Context& context, const std::string& folder, uint64_t build);
  ~PipelineCache();  // writes the file, where it has grown
  PipelineCache(const PipelineCache&) = delete;

  VkPipelineCache handle() const { return cache_; }
  const std::string& path() const { return path_; }
  bool was_found() const { return found_ > 0; }

 private:
  void save() const;

  const Context& context_;
  std::string path_, key_;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  size_t found_ = 0;  // bytes
};

// What the file of a key holds around the driver's bytes. Tests.
std::string framed(const std::string& key, const std::string& data);
// The driver's bytes; nothing where the file is not one of this key, whole and as it was written.
std::string unframed(const std::string& key, const std::string& file);

}  // namespace brass::vulkan
