#include "backend/vulkan/pipeline_cache.h"

#include <volk.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/hash.h"
#include "base/output_file.h"

namespace brass::vulkan {
namespace {

constexpr std::string_view kMagic = "brass pipelines 1\n";

std::string number_bytes(uint64_t n) {
  std::string bytes(sizeof n, 0);
  std::memcpy(bytes.data(), &n, sizeof n);
  return bytes;
}

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

std::string framed(const std::string& key, const std::string& data) {
  const std::string body = number_bytes(key.size()) + key + number_bytes(data.size()) + data;
  return std::string(kMagic) + number_bytes(fnv1a(body)) + body;
}

std::string unframed(const std::string& key, const std::string& file) {
  const size_t before = kMagic.size() + 8 + 8 + key.size() + 8;
  if (file.size() < before) return {};
  std::string data = file.substr(before);
  return framed(key, data) == file ? data : std::string();
}

PipelineCache::PipelineCache(const Context& context, const std::string& folder, uint64_t build)
    : context_(context) {
  const auto identity = context.identity();
  key_ =
      fmt::format("{}-{}-{:08x}-{:016x}", hex(identity.device), hex(identity.cache), identity.driver, build);
  std::string data;
  if (!folder.empty()) {
    path_ = fmt::format("{}/{}.bin", folder, key_);
    std::ifstream in(path_, std::ios::binary);
    data = unframed(key_, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  found_ = data.size();
  VkPipelineCacheCreateInfo create{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                   .initialDataSize = data.size(),
                                   .pInitialData = data.data()};
  if (vkCreatePipelineCache(context.device(), &create, nullptr, &cache_) == VK_SUCCESS) return;
  found_ = 0;
  create.initialDataSize = 0;
  if (vkCreatePipelineCache(context.device(), &create, nullptr, &cache_) != VK_SUCCESS)
    cache_ = VK_NULL_HANDLE;
}

PipelineCache::~PipelineCache() {
  if (cache_ == VK_NULL_HANDLE) return;
  if (!path_.empty()) save();
  vkDestroyPipelineCache(context_.device(), cache_, nullptr);
}

void PipelineCache::save() const {
  size_t bytes = 0;
  if (vkGetPipelineCacheData(context_.device(), cache_, &bytes, nullptr) != VK_SUCCESS || bytes == found_)
    return;
  std::string data(bytes, 0);
  if (vkGetPipelineCacheData(context_.device(), cache_, &bytes, data.data()) != VK_SUCCESS) return;
  data.resize(bytes);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  Result<OutputFile> file = OutputFile::create(path_);
  if (!file) return;
  const std::string all = framed(key_, data);
  if (file->write(std::as_bytes(std::span(all)))) (void)file->commit();
}

}  // namespace brass::vulkan
